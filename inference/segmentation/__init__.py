"""Segmentation of HTML into the text blocks that a reader sees, in DOM order."""
