"""Scrapy, with the item pipeline of the docs' recipe."""

import shutil
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from tests.crawlers.attached import Outcome
from tests.crawlers.programs import PROJECTS, run

UNTYPED = b"<title>A page</title><p>A server that does not say what it sends is one of many."


class UntypedHandler(BaseHTTPRequestHandler):
    """Answers everything with a page and no content type."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(UNTYPED)

    def log_message(self, *arguments):
        pass


def crawl(start, pipelines, folder):
    shutil.copy(PROJECTS / "scrapy" / "spider.py", folder)
    (folder / "pipelines.py").write_text(pipelines)
    scrapy = [sys.executable, "-m", "scrapy", "runspider", "spider.py", "-a", f"start={start}"]
    run([*scrapy, "-s", 'ITEM_PIPELINES={"pipelines.KafkaPipeline": 100}'], folder)


def test_every_page_becomes_a_document(site, attached, recipe, tmp_path):
    crawl(site.start, recipe("Scrapy"), tmp_path)
    assert attached.clean() == Outcome({"html"}, site.pages, {"not-html": 1}, {})


def test_a_page_without_a_content_type_becomes_one_too(attached, recipe, tmp_path):
    with HTTPServer(("127.0.0.1", 0), UntypedHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        crawl(url, recipe("Scrapy"), tmp_path)
        server.shutdown()
    assert attached.clean() == Outcome({"html"}, {url: len(UNTYPED)}, {}, {})
