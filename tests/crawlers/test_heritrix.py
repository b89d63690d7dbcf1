"""Heritrix, whose job has the bean of the docs' recipe."""

import shutil
from zipfile import ZipFile

from dehusk.streams.local.folder import free_ports
from tests.crawlers.attached import Outcome
from tests.crawlers.programs import PROJECTS, maven, run

PROFILE = "org/archive/crawler/restlet/profile-crawler-beans.cxml"
"""Text that Heritrix fills a new job with."""


def test_every_page_becomes_a_document(site, attached, recipe, tmp_path):
    shutil.copytree(PROJECTS / "heritrix", tmp_path, dirs_exist_ok=True)
    maven(tmp_path, "dependency:copy-dependencies", "-DoutputDirectory=fetched")
    with ZipFile(next((tmp_path / "fetched").glob("heritrix-*-dist.zip"))) as distribution:
        distribution.extractall(tmp_path)
    home = next(tmp_path.glob("heritrix-*"))
    for jar in (tmp_path / "fetched").glob("*.jar"):
        shutil.copy(jar, home / "lib")
    with ZipFile(next((home / "lib").glob("heritrix-engine-*.jar"))) as engine:
        profile = engine.read(PROFILE).decode()
    bean = recipe("Heritrix").replace("heritrix-crawl-log", attached.topic)
    job = home / "jobs" / "site"
    job.mkdir(parents=True)
    (job / "crawler-beans.cxml").write_text(with_recipe(profile, bean, by_name(site.start)))
    heritrix = ["java", "-Xmx512m", "-cp", "lib/*", "org.archive.crawler.Heritrix"]
    run([*heritrix, "-a", "admin:admin", "-p", str(free_ports(1)[0]), "-r", "site"], home)
    assert attached.probe()["worker"].endswith(" --warc-directory DIR")
    outcome = attached.clean("--warc-directory", str(job / "latest" / "warcs"))
    documents = {by_name(url): length for url, length in site.pages.items()}
    skipped = {
        "error-status": 3,  # robots.txt, favicon.ico and a page that is gone
        "not-a-page": 1,  # what the DNS answered
        "not-html": 2,  # the style sheet and a text
    }
    assert outcome == Outcome({"warc-pointer"}, documents, skipped, {})


def by_name(url: str) -> str:
    """The URL by the name of the host, which Heritrix asks the DNS for."""
    return url.replace("127.0.0.1", "localhost")


def with_recipe(profile: str, bean: str, start: str) -> str:
    """The profile with the recipe in it, for a crawl of the site without pauses."""
    profile = profile.replace("ENTER_AN_URL_WITH_YOUR_CONTACT_INFO_HERE", "http://example.org/")
    profile = profile.replace("##..more?..##", "disposition.delayFactor=0\ndisposition.minDelayMs=0")
    profile = profile.replace("http://example.example/example", start)
    profile = profile.replace(
        '<ref bean="disposition"/>', '<ref bean="disposition"/><ref bean="kafkaCrawlLog"/>'
    )
    return profile.replace("</beans>", f"{bean}</beans>")
