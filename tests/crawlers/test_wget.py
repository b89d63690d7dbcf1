"""The WARC file of a crawl with wget, with and without Kafka."""

import orjson

from tests.commands import DEHUSK
from tests.crawlers.attached import Outcome
from tests.crawlers.programs import needs, run


def test_every_page_becomes_a_document(site, attached, tmp_path):
    needs("wget", "wget")
    wget = ["wget", "--quiet", "--recursive", "--warc-file=site", site.start]
    run(wget, tmp_path, status=8)  # as a page is missing
    archive = tmp_path / "site.warc.gz"
    run([DEHUSK, "feed", "--brokers", attached.brokers, "--topic", attached.topic, archive])
    assert attached.clean() == Outcome({"html"}, site.pages, {}, {})
    lines = run([DEHUSK, "clean", archive]).splitlines()
    cleaned = map(orjson.loads, lines)
    assert {page["url"] for page in cleaned if not page["error"]} == set(site.pages)
