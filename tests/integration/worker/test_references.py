"""Messages that name their pages in a real S3, which is away for a while."""

import json

from dehusk.streams.sources.source import Record
from tests.integration.s3_store import S3Server

HTML = "<html><title>T</title><body><p>" + "A paragraph that is long enough to be taken for content. " * 5
PAGES = 60


async def test_messages_wait_for_their_pages_and_others_do_not(bench, tmp_path, monkeypatch) -> None:
    server = S3Server(tmp_path)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    named, held, lost = [], [], []
    server.start()
    for number in range(PAGES):
        url = f"https://named.example/{number}"
        server.put(f"crawl/{number}.html", HTML.encode())
        named.append(Record(url.encode(), f"s3://pages/crawl/{number}.html".encode()))
        url = f"https://held.example/{number}"
        held.append(Record(url.encode(), json.dumps({"url": url, "html": HTML}).encode()))
    for number, name in enumerate(["crawl/missing.html", "s3://other/0.html", "http://127.0.0.1:1/0.html"]):
        lost.append(Record(b"https://lost.example/%d" % number, name.encode()))
    server.stop()
    worker = bench.worker("--source", "reference", "--reference-root", "s3://pages/")
    try:
        await bench.produce([named[0], *held[:30], *named[1:], *held[30:], *lost])
        await bench.until(worker.has_partitions)
        await bench.until(lambda: worker.report()["totals"]["documents"] == PAGES)
        assert "store" in worker.report()["unavailable"]
        assert {message.key for message in await bench.documents()} == {record.key for record in held}
        server.start()
        await bench.until_done()
        keys = sorted(message.key for message in await bench.documents())
        assert keys == sorted(record.key for record in [*named, *held])
        letters = await bench.dead_letters()
        assert sorted(letter.original.key for letter in letters) == [record.key for record in lost]
        assert {letter.reason for letter in letters} == {"record-not-found"}
        assert "store" not in worker.report()["unavailable"]
        assert worker.stop() == 0
    finally:
        server.stop()
