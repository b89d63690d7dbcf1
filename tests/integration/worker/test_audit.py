"""Every message is accounted for on the audit topic, and `dehusk why` answers from it."""

import json
import subprocess
from collections import Counter
from dataclasses import replace

from dehusk.streams.kafka.client import ensure_topics
from dehusk.streams.sources.source import Record
from dehusk.streams.topics.audit import read_audit_record
from tests.commands import DEHUSK


def page(url: str, body: str = "<p>Nothing in particular.", *, status: bytes = b"200") -> Record:
    return Record(url.encode(), body.encode(), ((b"status".decode(), status), ("content-type", b"text/html")))


async def test_every_message_has_a_record_and_a_page_is_explained(bench, fresh: str) -> None:
    audit = f"{fresh}-audit"
    await ensure_topics(bench.kafka, replace(bench.topics, audit=audit))
    prose = "<p>A paragraph of prose, long enough that rules take it for content, and so on and on." * 5
    urls = [f"https://{fresh}.test/{number}" for number in range(20)]
    gone = page(f"https://{fresh}.test/gone", status=b"404")
    pdf = page(f"https://{fresh}.test/pdf", "%PDF-1.7")
    deep = page(f"https://{fresh}.test/many", "<p>x" * 2000)
    removed = Record(urls[0].encode(), None)
    await bench.produce([*(page(url, prose) for url in urls), gone, pdf, deep, removed])
    worker = bench.worker("--audit-topic", audit, "--source", "html", "--max-page-blocks", "1000")
    await bench.until_done()
    records = [read_audit_record(message) for message in await bench.messages(audit)]
    outcomes = Counter(each.outcome for record in records if record for each in record.pages)
    assert outcomes == {"document": 20, "skipped": 2, "dead-letter": 1, "tombstone": 1}
    assert len({record.source for record in records if record}) == 24
    assert worker.report()["skipped"]["error-status"]["latest"][0]["url"] == gone.key.decode()
    said = why(bench, audit, gone.key.decode())
    assert "skipped\n    error-status: status 404\n" in said.stdout
    assert "too-many-blocks at prepare: " in why(bench, audit, deep.key.decode()).stdout
    first, second = why(bench, audit, urls[0], "--json").stdout.splitlines()
    assert [json.loads(line)["page"]["outcome"] for line in (first, second)] == ["document", "tombstone"]
    written = json.loads(first)["page"]["document"]
    (document,) = [
        each
        for each in await bench.messages(bench.topics.output)
        if [each.topic, each.partition, each.offset] == list(written.values())
    ]
    assert document.key == urls[0].encode()
    source = json.loads(first)["record"]["source"]
    position = f"{source['topic']}/{source['partition']}/{source['offset']}"
    said = why(bench, audit, urls[0], "--monitoring-url", "https://worker.test:8443")
    assert f"document at {'/'.join(map(str, written.values()))}\n" in said.stdout
    assert f"inspect it: https://worker.test:8443/inspect/#{position}\n" in said.stdout
    for place in (position, "/".join(map(str, written.values()))):
        assert why(bench, audit, place, "--json").stdout.splitlines() == [first]
    assert json.loads(first)["record"]["model"] == {"name": "boilerpipe", "version": "1"}
    assert why(bench, audit, "nothing").returncode == 1
    unknown = why(bench, audit, "https://example.org/never")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "says nothing of https://example.org/never" in unknown.stderr
    assert worker.stop() == 0


def why(bench, topic: str, url: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [DEHUSK, "why", url, "--audit-topic", topic, "--brokers", bench.kafka.brokers, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
