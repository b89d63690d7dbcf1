"""StormCrawler on a Storm of its own, with the bolt of the docs' recipe behind its fetcher."""

import shutil

from dehusk.streams.local.process import Service
from tests.crawlers.programs import PROJECTS, Command, classpath

OPENED = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.nio", "java.util")
]
"""Options that Storm 2's serialisation needs on Java 17 and newer."""


def test_every_page_becomes_a_document(site, attached, recipe, tmp_path):
    project = tmp_path / "stormcrawler"
    shutil.copytree(PROJECTS / "stormcrawler", project)
    bolt = project / "src" / "main" / "java" / "PageBolt.java"
    bolt.write_text(bolt.read_text().replace("/* recipe */", recipe("StormCrawler")))
    arguments = ["Crawl", site.start, attached.brokers]
    java = ["java", "-Xmx512m", *OPENED, "-cp", classpath(project), *arguments]
    crawler = Service(Command("stormcrawler", java), tmp_path / "stormcrawler.log")
    crawler.start()
    try:
        attached.wait_for(site.pages, crawler)
    finally:
        crawler.stop()
    outcome = attached.clean()
    assert (outcome.formats, outcome.documents, outcome.dead_letters) == ({"html"}, site.pages, {})
    assert outcome.undated == 0
    assert set(outcome.skipped) <= {"not-html"}  # a text, if it came before the end
