"""Colly, in the program of the docs' recipe."""

import shutil

from tests.crawlers.attached import Outcome
from tests.crawlers.programs import PROJECTS, go, run


def test_every_page_becomes_a_document(site, attached, recipe, tmp_path):
    shutil.copytree(PROJECTS / "colly", tmp_path, dirs_exist_ok=True)
    program = recipe("Colly").replace("https://example.org/", site.start).replace("example.org", "127.0.0.1")
    (tmp_path / "main.go").write_text(program)
    go(tmp_path, "mod", "tidy")
    go(tmp_path, "build", "-o", "crawl")
    run([tmp_path / "crawl"])
    assert attached.clean() == Outcome({"html"}, site.pages, {"not-html": 1}, {})
