"""Scrapy, with the item pipeline of README's recipe."""

import shutil
import sys

from tests.crawlers.attached import Outcome
from tests.crawlers.programs import PROJECTS, run


def test_every_page_becomes_a_document(site, attached, recipe, tmp_path):
    shutil.copy(PROJECTS / "scrapy" / "spider.py", tmp_path)
    (tmp_path / "pipelines.py").write_text(recipe("Scrapy"))
    scrapy = [sys.executable, "-m", "scrapy", "runspider", "spider.py"]
    pipelines = 'ITEM_PIPELINES={"pipelines.KafkaPipeline": 100}'
    run([*scrapy, "-a", f"start={site.start}", "-s", pipelines], tmp_path)
    assert attached.clean() == Outcome({"html"}, site.pages, {"not-html": 1}, {})
