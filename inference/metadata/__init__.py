"""Metadata of pages: author, dates, description …, from what the head, microdata and JSON-LD declare."""
