"""Labelers: the probability of content for each block of a page."""
