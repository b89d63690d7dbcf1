"""Crawlee, in the program of the docs' recipe."""

import shutil

from tests.crawlers.attached import Outcome
from tests.crawlers.programs import PROJECTS, npm, run


def test_every_page_becomes_a_document(site, attached, recipe, tmp_path):
    shutil.copytree(PROJECTS / "crawlee", tmp_path, dirs_exist_ok=True)
    npm(tmp_path)
    (tmp_path / "crawl.js").write_text(recipe("Crawlee").replace("https://example.org/", site.start))
    run(["node", "crawl.js"], tmp_path)
    assert attached.clean() == Outcome({"html"}, site.pages, {"error-status": 1}, {})
