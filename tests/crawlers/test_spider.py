"""The crate spider, in the program of the docs' recipe."""

import shutil

from tests.crawlers.attached import Outcome
from tests.crawlers.programs import CACHE, PROJECTS, needs, run


def test_every_page_becomes_a_document(site, attached, recipe, tmp_path):
    needs("cargo", "cargo g++ make")
    shutil.copytree(PROJECTS / "spider", tmp_path, dirs_exist_ok=True)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.rs").write_text(recipe("spider").replace("https://example.org/", site.start))
    target = CACHE / "cargo"
    run(["cargo", "build", "--quiet", "--target-dir", target], tmp_path)
    run([target / "debug" / "crawl"])
    assert attached.clean() == Outcome({"html"}, site.pages, {"error-status": 1}, {})
