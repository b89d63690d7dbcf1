"""The pool against messages that break the process which prepares them."""

import asyncio
import ctypes
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path

import numpy as np
import psutil
import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Encoding, Message, ModelVersion, Prediction
from dehusk.streams.preparation.context import IsolatedContext, _without_current_folder
from dehusk.streams.preparation.pool import PreparationPool, PrepareTask, open_pool, open_steps
from dehusk.streams.preparation.process import PageProcess, Work
from dehusk.streams.preparation.steps import LabeledPage, Outcomes, PackedPage, Writing
from dehusk.streams.settings import MIB, PageLimits
from dehusk.streams.sources.html import Html
from tests.unit.streams.preparation.limits import Limits


def hostile() -> Work:
    return _work


def refused() -> Work:
    raise ConfigurationError("no such source")


def steps() -> Work:
    return open_steps(lambda: Html(16 * MIB), 100_000, Writing())


_kept: list[bytes] = []
"""Small parts of the memory that a message took."""


def _work(task: PrepareTask) -> Outcomes:  # noqa: C901, PLR0912 so much can happen
    message = task.message
    match message.value:
        case b"spin":
            while True:
                pass
        case b"spin in native code":
            sum(range(1 << 40))
        case b"segfault":
            ctypes.string_at(0)
        case b"hang":
            time.sleep(60)
        case b"hang in native code":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            ctypes.CDLL(None).pause()
        case b"wait":
            time.sleep(0.5)
        case b"exit":
            os._exit(3)
        case b"swell":
            bytearray(100 * MIB)
        case b"leave gaps":
            pieces = [b"a" * 20_000 + b"%d" % number for number in range(1200)]
            _kept.extend([*pieces[::100], pieces[-1]])
        case b"swell too much":
            bytearray(300 * MIB)
        case b"refuse for want of memory":
            try:
                bytearray(100 * MIB)
            except MemoryError:
                return (Broken(BrokenReason.MEMORY_BUDGET_EXCEEDED, ""),)
        case b"answer at length":
            return (Skipped(SkipReason.NOT_A_PAGE, "x" * 5 * MIB),)
        case b"1000 bytes":
            return (Skipped(SkipReason.NOT_A_PAGE, "x" * 1000),)
        case b"once":
            _die_once(Path(os.fsdecode(message.key or b"")))
    return (Skipped(SkipReason.NOT_A_PAGE, (message.value or b"").decode()),)


def _die_once(file: Path) -> None:
    """Die like somebody killed the process: only when the file is not there yet."""
    if not file.exists():
        file.touch()
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
async def pool() -> AsyncIterator[PreparationPool]:
    with closing(PreparationPool(hostile, 2, PageLimits())) as running:
        await running.start()
        yield running


@asynccontextmanager
async def guarded(patience: float, seconds: float = 0.5) -> AsyncIterator[PreparationPool]:
    with closing(PreparationPool(hostile, 2, Limits(seconds=seconds, patience=patience))) as running:
        await running.start()
        guard = asyncio.create_task(running.kill_stuck())
        yield running
        guard.cancel()


@pytest.fixture
async def hasty_pool() -> AsyncIterator[PreparationPool]:
    """Of little patience with messages that hang."""
    async with guarded(patience=1.0) as running:
        yield running


def messages(*values: str) -> list[Message]:
    return [Message(None, value.encode()) for value in values]


def told(outcomes: list[Outcomes]) -> list[str]:
    """Return the outcome of each message: the detail of a skip, the reason of a broken one."""
    found = [each[0] for each in outcomes if isinstance(each, tuple) and len(each) == 1]
    assert len(found) == len(outcomes)
    return [each.detail if isinstance(each, Skipped) else each.reason.value for each in found]


def children() -> list[psutil.Process]:
    """The processes of the pool: the children of the fork server."""
    servers = (child for child in psutil.Process().children() if "forkserver" in " ".join(child.cmdline()))
    return [child for server in servers for child in server.children()]


def blocked_in(process: int) -> set[int]:
    """The signals that a process blocks."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    mask = int(next(line.split()[1] for line in lines if line.startswith("SigBlk")), 16)
    return {number for number in signal.valid_signals() if mask >> number - 1 & 1}


async def test_outcomes_come_in_the_order_of_the_messages(pool: PreparationPool) -> None:
    values = [str(number) for number in range(50)]
    assert told(await pool.prepare(messages(*values))) == values


@pytest.mark.parametrize("guilty", ["spin", "spin in native code"])
async def test_a_message_that_takes_too_much_cpu_time_is_broken_alone(
    guilty: str,
) -> None:
    async with guarded(patience=100.0, seconds=0.2) as pool:
        outcomes = await pool.prepare(messages("a", guilty, "b", guilty, "c"))
    reason = BrokenReason.TIME_BUDGET_EXCEEDED.value
    assert told(outcomes) == ["a", reason, "b", reason, "c"]
    (broken,) = outcomes[1]
    assert broken.detail == "the page took more than 0.2 s of CPU time (--page-seconds)"


async def test_time_that_a_process_waits_for_a_processor_is_not_its_message_s() -> None:
    with closing(PreparationPool(hostile, 1, PageLimits(seconds=0.2))) as pool:
        assert told(await pool.prepare(messages("wait", "a"))) == ["wait"]
        assert told(await pool.prepare(messages("a"))) == ["a"]


@pytest.mark.parametrize(
    ("guilty", "reason"),
    [
        ("segfault", BrokenReason.PROCESS_CRASHED),
        ("exit", BrokenReason.PROCESS_CRASHED),
        ("hang", BrokenReason.TIME_BUDGET_EXCEEDED),
        ("hang in native code", BrokenReason.TIME_BUDGET_EXCEEDED),
    ],
)
async def test_a_message_that_breaks_its_process_is_tried_alone_and_broken_alone(
    hasty_pool: PreparationPool, guilty: str, reason: BrokenReason
) -> None:
    first, alone, *others = messages("a", guilty, "b")
    assert told(await hasty_pool.prepare([first, alone, *others])) == ["a"]
    assert told([await hasty_pool.prepare_alone(alone)]) == [reason.value]
    assert told(await hasty_pool.prepare(others)) == ["b"]


async def test_a_kill_from_outside_breaks_no_message(pool: PreparationPool, tmp_path) -> None:
    once = [Message(os.fsencode(tmp_path / name), b"once") for name in "ab"]
    assert told(await pool.prepare([*messages("a"), once[0], *messages("b")])) == ["a"]
    assert told(await pool.prepare([once[0], *messages("b")])) == ["once", "b"]
    assert told([await pool.prepare_alone(once[1])]) == ["once"]


async def test_no_process_hears_of_ctrl_c(pool: PreparationPool) -> None:
    """A terminal sends it to all processes, whatever they are at: they would end amid their imports."""
    servers = {child.parent() for child in children()}
    assert all({signal.SIGINT, signal.SIGTERM} <= blocked_in(each.pid) for each in [*children(), *servers])
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


async def test_a_stopped_process_is_replaced(hasty_pool: PreparationPool) -> None:
    before = children()
    for child in before:
        child.suspend()
    for _ in before:
        assert told([await hasty_pool.prepare_alone(*messages("a"))]) == ["a"]
    assert not any(child.is_running() for child in before)


def late() -> Work:
    time.sleep(600)
    raise AssertionError


async def test_a_process_that_is_not_ready_in_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PageProcess, "start_seconds", 0.2)
    with pytest.raises(ConfigurationError, match=r"no process was ready within 0.2 s: .* CPU time"):
        async with open_pool(late, 1, PageLimits(seconds=0.1)):
            pass


async def test_a_process_that_waits_for_messages_is_not_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PageProcess, "start_seconds", 0.0)
    with closing(PreparationPool(hostile, 1, PageLimits())) as pool:
        await pool.start()
        started = children()
        for process in pool._processes:
            process.kill_if_stuck()
        assert told(await pool.prepare(messages("a"))) == ["a"]
        assert children() == started


@pytest.mark.parametrize("huge", ["swell", "answer at length", "refuse for want of memory"])
async def test_a_message_that_needs_much_memory_is_for_a_process_of_its_own(
    pool: PreparationPool, huge: str
) -> None:
    assert told(await pool.prepare(messages("a", huge, "b"))) == ["a"]
    assert len(told([await pool.prepare_alone(*messages(huge))])) == 1
    assert told(await pool.prepare(messages("b"))) == ["b"]


async def test_a_huge_message_is_not_tried_beside_others(pool: PreparationPool) -> None:
    assert told(await pool.prepare(messages("a", "x" * 5 * MIB, "b"))) == ["a"]


async def test_a_message_that_needs_more_memory_than_any_may_have_is_broken(pool: PreparationPool) -> None:
    outcomes = await pool.prepare_alone(*messages("swell too much"))
    assert told([outcomes]) == [BrokenReason.MEMORY_BUDGET_EXCEEDED.value]


async def test_a_process_that_has_swollen_makes_place_for_a_fresh_one(pool: PreparationPool) -> None:
    swollen = {child.pid for child in children()}
    for _ in swollen:
        assert told([await pool.prepare_alone(*messages("swell"))]) == ["swell"]
    assert told(await pool.prepare(messages("b"))) == ["b"]
    assert not swollen & {child.pid for child in children()}


async def test_a_process_returns_the_memory_that_a_page_leaves_free(pool: PreparationPool) -> None:
    before = {child: child.memory_info().rss for child in children()}
    assert told(await pool.prepare(messages("leave gaps"))) == ["leave gaps"]
    async with asyncio.timeout(30):
        while any(child.memory_info().rss > held + 10 * MIB for child, held in before.items()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert told(await pool.prepare(messages("b"))) == ["b"]


@pytest.mark.parametrize(
    ("values", "max_bytes", "answered"),
    [
        (["1000 bytes"] * 4, 2000, 2),
        (["1000 bytes"] * 4, 1, 1),
        (["1000 bytes"] * 4, 5000, 4),
        (["1000 bytes", "segfault", "1000 bytes"], 5000, 1),
        (["a"] * 4, 10_000, 4),
    ],
)
async def test_a_batch_is_prepared_as_far_as_there_is_room_for_what_comes_of_it(
    pool: PreparationPool, values: list[str], max_bytes: int, answered: int
) -> None:
    assert len(await pool.prepare(messages(*values), max_bytes)) == answered
    assert told(await pool.prepare(messages("a", "b"))) == ["a", "b"]


async def test_batches_run_in_parallel(hasty_pool: PreparationPool) -> None:
    hanging = asyncio.create_task(hasty_pool.prepare_alone(*messages("hang")))
    assert told(await hasty_pool.prepare(messages("a"))) == ["a"]
    assert not hanging.done()
    assert told([await hanging]) == [BrokenReason.TIME_BUDGET_EXCEEDED.value]


async def test_a_closed_pool_starts_no_process() -> None:
    pool = PreparationPool(hostile, 2, PageLimits(seconds=5))
    waiting = [asyncio.create_task(pool.prepare_alone(*messages("hang"))) for _ in range(2)]
    while not pool._large.locked():  # noqa: ASYNC110 a lock of threads tells nobody
        await asyncio.sleep(0.01)
    pool.close()
    assert all(isinstance(each, Exception) for each in await asyncio.gather(*waiting, return_exceptions=True))


async def test_a_process_that_cannot_start_is_no_message_s_fault() -> None:
    pool = PreparationPool(refused, 1, PageLimits())
    with pytest.raises(ConfigurationError, match="no such source"):
        await pool.prepare(messages("a"))
    pool.close()


async def test_a_machine_that_starts_no_process_is_no_message_s_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(_: object) -> None:
        raise EOFError("unexpected EOF")

    monkeypatch.setattr(IsolatedContext.Process, "start", failing)
    pool = PreparationPool(steps, 1, PageLimits())
    with pytest.raises(ConfigurationError, match="no process could be started: unexpected EOF"):
        await pool.prepare(messages("a"))
    monkeypatch.undo()
    assert len(await pool.prepare(messages("a"))) == 1
    pool.close()


def test_processes_start_under_a_limit_of_memory() -> None:
    command = f"ulimit -d 4000000; exec {sys.executable} -m dehusk clean --labeler rules --processes 1"
    cleaned = subprocess.run(["sh", "-c", command], input=b"<p>text", capture_output=True, check=True)
    assert b'"error":null' in cleaned.stdout


def test_threads_that_start_processes_leave_the_environment_as_it_was() -> None:
    def start(_: int) -> None:
        with _without_current_folder():
            time.sleep(0.01)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(start, range(40)))
    assert "PYTHONSAFEPATH" not in os.environ


async def test_a_page_whose_document_takes_many_times_its_own_size_breaks_no_process() -> None:
    """Its lines, millions of them, stand in lists: cutting them apart took more than a gigabyte."""
    html = b"<ol><li>" * 200 + b"<pre>" + b"a\n" * 2 * MIB
    message = Message(b"https://e.org/", html, (("content-type", b"text/html"),))
    with closing(PreparationPool(steps, 1, PageLimits())) as pool:
        outcomes = await pool.prepare_alone(message)
        assert isinstance(outcomes, tuple)
        (page,) = outcomes
        assert isinstance(page, PackedPage)
        labels = Prediction(np.ones(1, np.float32), ModelVersion("m", "1"), "onnx")
        document = await pool.extract_alone(LabeledPage(page.packed, labels))
    assert not isinstance(document, Broken)
    assert len(document.value) > 2 * len(html)


@pytest.mark.parametrize("encodings", [frozenset(), frozenset((Encoding.WEB2TEXT,))])
async def test_pages_have_the_encodings_that_are_asked_for_with_their_messages(
    encodings: frozenset[Encoding],
) -> None:
    message = Message(b"http://mill.example/", b"<p>The mill grinds.</p>")
    with closing(PreparationPool(steps, 1, PageLimits())) as pool:
        together = await pool.prepare([message], encodings=encodings)
        alone = await pool.prepare_alone(message, encodings)
    for outcomes in (*together, alone):
        assert isinstance(outcomes, tuple)
        (page,) = outcomes
        assert isinstance(page, PackedPage)
        assert (page.encoded.web2text is not None) == bool(encodings)
        assert pickle.loads(page.packed).encoded.web2text is None
