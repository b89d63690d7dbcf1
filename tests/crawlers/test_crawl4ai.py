"""Crawl4AI with Debian's Chromium, in the program of the docs' recipe."""

import sys
from pathlib import Path

from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.local.process import Service
from tests.crawlers.programs import Command, environment, needs, run


def test_every_page_becomes_a_document(site, attached, recipe, tmp_path):
    needs("chromium", "chromium")
    python = environment("crawl4ai", Path(sys.executable))
    (port,) = free_ports(1)
    options = [f"--remote-debugging-port={port}", f"--user-data-dir={tmp_path / 'profile'}"]
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", *options]
    browser = f'browser_mode="cdp", cdp_url="http://{LOOPBACK}:{port}", create_isolated_context=True'
    program = recipe("Crawl4AI").replace("https://example.org/", site.start)
    program = program.replace("AsyncWebCrawler()", f"AsyncWebCrawler(config=BrowserConfig({browser}))")
    (tmp_path / "crawl.py").write_text(f"from crawl4ai import BrowserConfig\n{program}")
    chromium = Service(Command("chromium", words), tmp_path / "chromium.log")
    chromium.start()
    try:
        run(["env", f"HOME={tmp_path}", python, "crawl.py"], tmp_path)
    finally:
        chromium.kill()
    outcome = attached.clean()  # of what the browser serialised, whose bytes are others
    assert (set(outcome.documents), outcome.undated) == (
        set(site.pages),
        0,
    )
    assert (outcome.formats, outcome.dead_letters) == ({"html"}, {})
    assert outcome.skipped == {"error-status": 1, "not-html": 1}
