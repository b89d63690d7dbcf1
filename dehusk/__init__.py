"""Removes boilerplate from web pages: of every page of a running crawl, or of one at hand."""
