"""The main job on real input: a crawl of a real site, cleaned while it runs."""
