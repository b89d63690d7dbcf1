"""Figures of a worker and of its group: counts, curves, and the topic on which workers share them."""
