"""Pages that are inspected in the process beside a worker."""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import aiohttp
import psutil
import pytest

from dehusk.streams.worker.inspector.inspector import (
    MAX_WAITING,
    BusyError,
    Inspector,
    InspectorProcess,
    Turns,
)
from dehusk.streams.worker_settings import WorkerSettings
from tests.settling import left_running
from tests.unit.streams.inspection.conftest import HOSTILE
from tests.unit.streams.worker.inspector.conftest import BY_ONE_PROCESS, MAX_BYTES

HTML = b"<title>T</title><p>Some words of a page that is \xc3\xbcberpr\xc3\xbcft</p>"
OWN = {"Sec-Fetch-Site": "same-origin"}


async def paste(client: aiohttp.ClientSession, html: bytes | AsyncIterator[bytes] = HTML) -> tuple[int, str]:
    body = BytesIO(html) if isinstance(html, bytes) else html
    async with client.post("/inspect/pastes", data=body, headers=OWN) as answer:
        return answer.status, await answer.text()


async def settled(inspector: Inspector, pending: int) -> None:
    """Wait until so many requests are there."""
    async with asyncio.timeout(30):
        while inspector._turns._pending != pending:  # noqa: ASYNC110 nobody tells
            await asyncio.sleep(0.01)


async def opened(client: aiohttp.ClientSession, html: bytes = HTML) -> str:
    """The path of the inspection of a page."""
    status, text = await paste(client, html)
    assert status == 201, text
    return f"/inspect/{json.loads(text)['page']}"


@BY_ONE_PROCESS
async def test_pasted_html_is_inspected(shared_client: aiohttp.ClientSession) -> None:
    path = await opened(shared_client)
    async with shared_client.get(path) as answer:
        page, headers = await answer.text(), answer.headers
    assert "Some words of a page that is \\\\u00fcberpr\\\\u00fcft" in page.replace("\\u", "\\\\u")
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.endswith("frame-ancestors 'none'")
    assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")
    assert '<a id="chooser" href="../../">' in page
    async with shared_client.get(f"{path}views/1") as answer:
        assert (await answer.json())["labeler"] == "onnx"
    async with shared_client.get(f"{path}views/999") as answer:
        assert answer.status == 404


@BY_ONE_PROCESS
async def test_nothing_of_a_hostile_page_is_markup(shared_client: aiohttp.ClientSession) -> None:
    async with shared_client.get(await opened(shared_client, HOSTILE)) as answer:
        page = await answer.text()
    assert len(re.findall(r"<script", page)) == 3
    assert not re.search(r"<(?:img|iframe|base|object|embed|form|svg)\b", page)


@BY_ONE_PROCESS
@pytest.mark.parametrize(
    ("html", "status", "said"),
    [
        (b"", 422, "no-body: "),
        (b"%PDF-1.4\n%\xe2\xe3", 422, "not-html: "),
        (b"<p>" + b"x" * MAX_BYTES, 413, f"a page may have {MAX_BYTES:,} bytes"),
    ],
)
async def test_what_is_no_page_is_refused(
    shared_client: aiohttp.ClientSession, html: bytes, status: int, said: str
) -> None:
    answered, text = await paste(shared_client, html)
    assert (answered, text.startswith(said)) == (status, True)


async def test_what_is_sent_in_pieces_is_bounded_too(
    client: aiohttp.ClientSession, inspector: Inspector
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(MAX_BYTES // 1000 + 2):
            yield b"x" * 1000

    assert (await paste(client, pieces()))[0] == 413
    assert inspector.process.pid is None


@BY_ONE_PROCESS
async def test_style_sheets_are_loaded_by_the_worker_and_from_the_internet_alone(
    shared_client: aiohttp.ClientSession,
) -> None:
    linked = "http://127.0.0.1:1/a.css"
    page = await opened(shared_client, f"<link rel=stylesheet href={linked}><p>words".encode())
    async with shared_client.post(f"{page}styles", headers=OWN) as answer:
        assert answer.status == 403
    async with shared_client.post(f"{page}styles", headers=OWN, json={}) as answer:
        (sheet,) = await answer.json()
    assert (sheet["url"], sheet["text"]) == (linked, "")
    assert "127.0.0.1 is no address of the public internet" in sheet["error"]


@BY_ONE_PROCESS
@pytest.mark.parametrize(
    "query", ["", "topic=raw-pages&partition=-1&offset=0", "topic=t&partition=0&offset=²"]
)
async def test_what_is_no_position_is_refused(shared_client: aiohttp.ClientSession, query: str) -> None:
    async with shared_client.post(f"/inspect/positions?{query}", headers=OWN) as answer:
        assert (answer.status, "a position is" in await answer.text()) == (400, True)


@BY_ONE_PROCESS
async def test_kafka_that_does_not_answer_is_said(shared_client: aiohttp.ClientSession) -> None:
    query = "topic=raw-pages&partition=0&offset=0"
    async with shared_client.post(f"/inspect/positions?{query}", headers=OWN) as answer:
        assert (answer.status, "127.0.0.1:1" in await answer.text()) == (503, True)
    assert (await paste(shared_client))[0] == 201


@BY_ONE_PROCESS
async def test_the_last_pages_stay_open(shared_client: aiohttp.ClientSession) -> None:
    paths = [await opened(shared_client) for _ in range(5)]
    statuses = []
    for path in paths:
        async with shared_client.get(path) as answer:
            statuses.append(answer.status)
    assert statuses == [404, 200, 200, 200, 200]


async def test_a_process_that_dies_is_replaced(client: aiohttp.ClientSession, inspector: Inspector) -> None:
    path = await opened(client)
    first = inspector.process.pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    asking = asyncio.create_task(paste(client))
    await asyncio.sleep(0.2)
    os.kill(first, signal.SIGKILL)
    status, text = await asking
    assert (status, "died" in text) == (502, True)
    async with client.get(path) as answer:
        assert (answer.status, "not open any more" in await answer.text()) == (404, True)
    assert (await paste(client))[0] == 201
    assert inspector.process.pid not in {None, first}


async def test_few_wait_for_a_turn(client: aiohttp.ClientSession, inspector: Inspector) -> None:
    await opened(client)
    first = inspector.process.pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    asking = [asyncio.create_task(paste(client)) for _ in range(MAX_WAITING + 3)]
    done, waiting = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
    while len(done) < 2:
        more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        done |= more
    assert [(await each)[0] for each in done] == [503, 503]
    os.kill(first, signal.SIGCONT)
    assert [(await each)[0] for each in waiting] == [201] * (MAX_WAITING + 1)


@pytest.mark.parametrize("inspector", [{"seconds": 0.5}], indirect=True)
async def test_an_inspection_that_takes_too_long_is_ended(
    client: aiohttp.ClientSession, inspector: Inspector
) -> None:
    await inspector.process.session()
    first = inspector.process.pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    status, text = await paste(client)
    assert (status, "took longer than 0.5 s" in text) == (504, True)
    assert not psutil.pid_exists(first)


async def slow(comes: asyncio.Event) -> AsyncIterator[bytes]:
    """A page whose end waits for an event."""
    yield HTML[:9]
    await comes.wait()
    yield HTML[9:]


async def test_a_page_that_comes_slowly_holds_nobody_up(client: aiohttp.ClientSession) -> None:
    comes = asyncio.Event()
    asking = asyncio.create_task(paste(client, slow(comes)))
    await opened(client)
    assert not asking.done()
    comes.set()
    assert (await asking)[0] == 201


async def test_pages_that_come_slowly_take_the_places_of_those_that_wait(
    client: aiohttp.ClientSession, inspector: Inspector
) -> None:
    comes = asyncio.Event()
    asking = [asyncio.create_task(paste(client, slow(comes))) for _ in range(MAX_WAITING + 1)]
    await settled(inspector, MAX_WAITING + 1)
    status, text = await paste(client, slow(comes))
    assert (status, "others wait" in text) == (503, True)
    comes.set()
    assert [(await each)[0] for each in asking] == [201] * (MAX_WAITING + 1)


async def test_a_page_whose_client_leaves_is_no_error(
    client: aiohttp.ClientSession, inspector: Inspector, caplog: pytest.LogCaptureFixture
) -> None:
    url = client._base_url
    assert url is not None
    _, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(
        f"POST /inspect/pastes HTTP/1.1\r\nHost: {url.host}\r\nContent-Length: 9\r\n\r\n<p>".encode()
    )
    await settled(inspector, 1)
    writer.transport.abort()
    await settled(inspector, 0)
    assert (await paste(client))[0] == 201
    assert caplog.messages == []


@pytest.mark.parametrize("inspector", [{"seconds": 0.5}], indirect=True)
async def test_a_page_that_does_not_come_is_not_waited_for(
    client: aiohttp.ClientSession, inspector: Inspector
) -> None:
    async def stalled() -> AsyncIterator[bytes]:
        yield HTML[:9]
        await asyncio.sleep(600)

    status, text = await paste(client, stalled())
    assert (status, "did not come within 0.5 s" in text) == (408, True)
    assert inspector.process.pid is None


async def test_an_idle_process_is_ended(settings: WorkerSettings) -> None:
    inspector = Inspector(settings, idle_seconds=0.1)
    session = await inspector.process.session()
    pid = inspector.process.pid
    assert pid is not None
    started = psutil.Process(pid).children(recursive=True)
    assert started
    folder = inspector.process._folder
    running = inspector.running(None)
    await anext(running)
    while inspector.process._process is not None:  # noqa: ASYNC110 nobody tells
        await asyncio.sleep(0.01)
    await running.aclose()
    assert session.closed
    assert folder is not None
    assert not folder.exists()
    assert left_running(started) == []


async def test_the_end_of_the_worker_ends_the_process(settings: WorkerSettings) -> None:
    inspector = Inspector(settings)
    await inspector.process.session()
    process = inspector.process._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()  # as the kernel does when a worker is killed
    assert await process.wait() == 0
    await inspector.process.kill()


def score_of(pid: int) -> int:
    """Read how likely the kernel ends a process where memory lacks."""
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


async def test_the_process_stands_back(settings: WorkerSettings) -> None:
    inspector = Inspector(settings)
    await inspector.process.session()
    pid = inspector.process.pid
    assert pid is not None
    try:
        assert psutil.Process(pid).nice() >= 10
        assert psutil.Process(pid).rlimit(psutil.RLIMIT_DATA)[0] == 1 << 30
        assert score_of(pid) == 1000
    finally:
        await inspector.process.kill()


async def test_a_process_that_does_not_start_says_so(
    client: aiohttp.ClientSession,
    inspector: Inspector,
    settings: WorkerSettings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    inspector.process = InspectorProcess(settings, "dehusk.nothing")
    assert await paste(client) == (503, "the inspector does not start: its log has the reason\n")
    assert any("No module named dehusk.nothing" in message for message in caplog.messages)


async def test_a_process_that_is_not_ready_in_time_is_told_from_one_that_ends(
    client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as soon:
        soon.setattr("dehusk.streams.worker.inspector.inspector._START_SECONDS", 0.01)
        late = "the inspector does not start: it was not ready within 0.01 s\n"
        assert await paste(client) == (503, late)
    await opened(client)


async def test_a_setting_that_does_not_fit_is_said(
    client: aiohttp.ClientSession, inspector: Inspector, settings: WorkerSettings
) -> None:
    inspector.process = InspectorProcess(replace(settings, source="no-such"))
    status, text = await paste(client)
    assert (status, text.startswith("the inspector does not start: ")) == (503, True)


async def test_a_folder_that_cannot_be_made_is_said_and_tried_again(
    client: aiohttp.ClientSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "later"
    monkeypatch.setattr("dehusk.streams.worker.inspector.inspector.get_temp_dir", lambda: str(folder))
    assert await paste(client) == (503, "the inspector does not start: No such file or directory\n")
    folder.mkdir()
    await opened(client)


async def test_turns_are_taken_one_by_one_in_order() -> None:
    turns, order = Turns(), []

    async def take(number: int) -> None:
        with turns.place():
            async with turns.turn:
                order.append(number)
                await asyncio.sleep(0)
                order.append(number)

    await asyncio.gather(*map(take, range(3)))
    assert order == [0, 0, 1, 1, 2, 2]


async def test_one_more_than_may_wait_is_refused() -> None:
    turns, end = Turns(), asyncio.Event()

    async def take() -> None:
        with turns.place():
            await end.wait()

    waiting = [asyncio.create_task(take()) for _ in range(MAX_WAITING + 1)]
    await asyncio.sleep(0)
    with pytest.raises(BusyError):
        await take()
    assert turns.idle_seconds == 0
    end.set()
    await asyncio.gather(*waiting)
    await take()
    assert turns.idle_seconds >= 0
