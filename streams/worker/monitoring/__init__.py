"""The worker's figures: metrics, log lines, and the live page."""
