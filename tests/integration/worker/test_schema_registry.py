"""A schema registry that is unavailable, or that the pages' own bytes seem to ask for."""

import asyncio
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fastavro
import pytest

from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.sources.source import Record
from tests.integration.conftest import topics_of

PAGE = {
    "type": "record",
    "name": "Page",
    "fields": [{"name": "url", "type": "string"}, {"name": "html", "type": "string"}],
}
REFUSED = 8
HTML = "<html><title>T</title><body><p>" + "A paragraph that is long enough to be taken for content. " * 5


class Registry(ThreadingHTTPServer):
    """Answers every question but one with the one schema."""

    def __init__(self, port: int, refusal: str) -> None:
        super().__init__((LOOPBACK, port), Answer)
        self.refusal = refusal


class Answer(BaseHTTPRequestHandler):
    """Answers a question, or refuses it with the status 500 or by hanging."""

    server: Registry

    def do_GET(self) -> None:
        refusal = self.server.refusal if self.path.endswith(f"/{REFUSED}") else "none"
        if refusal == "hang":
            self.connection.recv(1)
        else:
            self.send_response(500 if refusal == "500" else 200)
            self.end_headers()
            self.wfile.write(json.dumps({"schema": json.dumps(PAGE)}).encode())

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def registry(port: int, refusal: str = "500") -> Iterator[None]:
    with Registry(port, refusal) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
        yield
        server.shutdown()


def framed(url: str, schema: int = 7) -> Record:
    out = io.BytesIO(b"\0" + schema.to_bytes(4))
    out.seek(5)
    fastavro.schemaless_writer(out, fastavro.parse_schema(PAGE), {"url": url, "html": HTML})
    return Record(url.encode(), out.getvalue())


async def test_pages_that_need_no_schema_do_not_wait_for_the_registry(bench, site) -> None:
    pages, (port,) = site(400), free_ports(1)
    waiting = [framed(f"https://waits.example/{number}") for number in range(4)]
    worker = bench.worker("--schema-registry", f"http://{LOOPBACK}:{port}")
    await bench.produce([waiting[0], *pages[:200], *waiting[1:], *pages[200:]])
    await bench.until(worker.has_partitions)
    await bench.until(lambda: worker.report()["totals"]["documents"] == len(pages))
    assert {message.key for message in await bench.documents()} == {page.key for page in pages}
    assert worker.report()["unavailable"].keys() == {"schema-registry"}
    assert await bench.left() > 0
    with registry(port):
        await bench.until_done()
    keys = [message.key for message in await bench.documents()]
    assert sorted(keys) == sorted(record.key for record in [*pages, *waiting])
    assert worker.stop() == 0


@pytest.mark.parametrize("end", ["kill", "stop"])
async def test_a_worker_that_ends_while_messages_wait_loses_none(bench, site, end: str) -> None:
    pages, (port,) = site(40), free_ports(1)
    waiting = framed("https://waits.example/")
    address = ("--schema-registry", f"http://{LOOPBACK}:{port}", "--grace-seconds", "4")
    worker = bench.worker(*address)
    await bench.produce([*pages[:20], waiting, *pages[20:]])
    await bench.until(worker.has_partitions)
    await bench.until(lambda: worker.report()["totals"]["documents"] == len(pages))
    assert not await asyncio.to_thread(getattr(worker, end))
    with registry(port):
        bench.worker(*address)
        await bench.until_done()
    keys = {message.key for message in await bench.documents()}
    assert keys == {record.key for record in [*pages, waiting]}


async def test_a_video_that_is_called_a_page_asks_for_no_schema(bench, site) -> None:
    html = (("content-type", b"text/html"),)
    videos = [
        Record(b"https://video.example/%d" % number, b"\0\0\0\x18ftypmp42" + bytes(50), html)
        for number in range(2)
    ]
    pages, (port,) = site(40), free_ports(1)
    worker = bench.worker("--source", "html", "--schema-registry", f"http://{LOOPBACK}:{port}")
    await bench.produce([videos[0], *pages, videos[1]])
    await bench.until_done()
    assert {message.key for message in await bench.documents()} == {page.key for page in pages}
    skipped = worker.metric("dehusk_skipped_total", "reason")
    assert {reason: count for reason, count in skipped.items() if count} == {"not-html": 2}
    assert worker.is_ready()


async def test_a_schema_that_is_refused_keeps_no_other_waiting_for_long(bench, site) -> None:
    async with asyncio.TaskGroup() as tasks:
        for refusal in ("500", "hang"):
            tasks.create_task(refuse(bench, site(2600), refusal))


async def refuse(bench, pages: list[Record], refusal: str) -> None:
    (port,) = free_ports(1)
    refused = [framed(f"https://refused.example/{number}", REFUSED) for number in range(100)]
    others = [framed(f"https://other.example/{number}") for number in range(100)]
    async with bench.beside(topics_of(f"{bench.topics.group}-{refusal}")) as own:
        worker = own.worker("--schema-registry", f"http://{LOOPBACK}:{port}")
        await own.produce([*refused, *others, *pages[:100]])
        await own.until(worker.has_partitions)
        await own.until(lambda: worker.report()["totals"]["documents"] == 100)
        with registry(port, refusal):
            await own.until(lambda: worker.report()["totals"]["documents"] == 200)
            assert worker.report()["totals"]["dead_letters"] == 0
            assert f" for schema ids/{REFUSED}" in worker.report()["unavailable"]["schema-registry"]
            await own.produce(pages[100:])
            await own.until_done(150)
        letters = await own.dead_letters()
        assert {letter.reason for letter in letters} == {"unknown-schema"}
        assert {letter.original.key for letter in letters} == {record.key for record in refused}
        keys = {message.key for message in await own.documents()}
        assert keys == {record.key for record in [*pages, *others]}
        assert worker.is_ready()
