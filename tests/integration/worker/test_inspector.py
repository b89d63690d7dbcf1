"""Pages of a running worker, inspected among its monitoring pages."""

import asyncio
from dataclasses import asdict

import aiohttp
import orjson

from dehusk.schemas.pages import Message
from dehusk.streams.sources.source import Record
from tests.settling import left_running

OWN = {"Sec-Fetch-Site": "same-origin"}
HTML = (("content-type", b"text/html; charset=utf-8"),)


async def inspected(client: aiohttp.ClientSession, path: str, **query: str) -> tuple[int, str]:
    """The inspection that is opened, as HTML, or why there is none."""
    async with client.post(f"/inspect/{path}", params=query, headers=OWN) as answer:
        if answer.status != 201:
            return answer.status, await answer.text()
        page = orjson.loads(await answer.read())["page"]
    async with client.get(f"/inspect/{page}") as answer:
        return answer.status, await answer.text()


def position(of: Message | dict[str, object]) -> dict[str, str]:
    """The position of a message, or of what names its source."""
    where = of["source"] if isinstance(of, dict) else asdict(of)
    return {name: str(where[name]) for name in ("topic", "partition", "offset")}


async def test_documents_and_dead_letters_are_inspected(bench, site):
    pages = site(3)
    url = pages[0].key.decode()
    deep = Record(b"https://deep.example/", b"<p>one<p>two<p>three" * 100, HTML)
    worker = bench.worker("--max-page-blocks", "200")
    await bench.produce([*pages, Record(b"https://pdf.example/", b"%PDF-1.4\n%\xe2", HTML), deep])
    await bench.until_done()
    documents, letters = await bench.documents(), await bench.messages(bench.topics.dead_letters)
    written = {*documents, *letters}
    async with aiohttp.ClientSession(worker.monitoring) as client:
        async with client.get("/inspect/recent") as answer:
            recent = await answer.json()
        assert {each["url"] for each in recent["documents"]} == {page.key.decode() for page in pages}
        assert (await inspected(client, "documents", url=url))[0] == 200
        for found in (recent["documents"][0], documents[0]):
            status, shown = await inspected(client, "positions", **position(found))
            assert (status, "This is paragraph 0 of page" in shown) == (200, True)
        (skipped,) = recent["skipped"]["not-html"]["latest"]
        (dropped,) = recent["dead_letters"]["too-many-blocks"]["latest"]
        for drop, reason in (
            (skipped, "not-html"),
            (dropped, "too-many-blocks"),
            (letters[0], "too-many-blocks"),
        ):
            status, said = await inspected(client, "positions", **position(drop))
            assert (status, said.split(":")[0]) == (422, reason)
            assert f"; {bench.topics.input}/" in said
        status, said = await inspected(client, "documents", url=f"{url}/none")
        assert (status, said.startswith(f"neither {bench.topics.output} nor")) == (422, True)
        elsewhere = {"topic": "__consumer_offsets", "partition": "0", "offset": "0"}
        assert (await inspected(client, "positions", **elsewhere))[0] == 422
    assert {*await bench.documents(), *await bench.messages(bench.topics.dead_letters)} == written
    started = worker.processes()
    assert await asyncio.to_thread(worker.stop) == 0
    assert left_running(started) == []


async def test_a_url_that_the_worker_has_forgotten_is_found_on_its_topics(bench, site):
    (page, *_) = site(1)
    deep = Record(b"https://deep.example/", b"<p>one<p>two<p>three" * 100, HTML)
    first = bench.worker("--max-page-blocks", "200")
    await bench.produce([page, deep])
    await bench.until_done()
    assert await asyncio.to_thread(first.stop) == 0
    second = bench.worker()
    await bench.until(second.has_partitions)
    async with aiohttp.ClientSession(second.monitoring) as client:
        async with client.get("/inspect/recent") as answer:
            assert (await answer.json())["documents"] == []
        for record, words in ((page, "This is paragraph 0 of page"), (deep, "three")):
            status, shown = await inspected(client, "documents", url=record.key.decode())
            assert (status, words in shown) == (200, True)


async def test_a_worker_goes_on_without_its_inspector(bench, site):
    worker = bench.worker()
    await bench.until(worker.has_partitions)
    async with aiohttp.ClientSession(worker.monitoring) as client:
        async with client.post("/inspect/pastes", data=b"<p>words", headers=OWN) as answer:
            assert answer.status == 201
        (inspector,) = [
            each for each in worker.processes() if "dehusk.streams.inspection.service" in each.cmdline()
        ]
        inspector.kill()
        await bench.produce(site(2))
        await bench.until_done()
        async with client.post("/inspect/pastes", data=b"<p>words", headers=OWN) as answer:
            assert answer.status in {201, 502}
    assert len(await bench.documents()) == 2
    assert worker.is_alive()
