"""The demo: a crawl of a real site, cleaned while it runs."""
