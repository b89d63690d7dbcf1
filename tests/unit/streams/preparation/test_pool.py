"""The pool against messages that break the process which prepares them."""

import asyncio
import ctypes
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from inference.cleaning import PreparedPage
from inference.cleaning import prepare as prepare_page
from schemas.errors import ConfigurationError
from schemas.outcomes import BrokenReason, Skipped, SkipReason
from schemas.pages import Message, RawPage
from streams.preparation.pool import PreparationPool
from streams.preparation.preparation import Outcomes, Prepare
from streams.settings import MIB, PageLimits


def hostile() -> Prepare:
    return _prepare


def refused() -> Prepare:
    raise ConfigurationError("no such source")


def _prepare(message: Message) -> Outcomes:
    match message.value:
        case b"segfault":
            ctypes.string_at(0)
        case b"hang":
            time.sleep(60)
        case b"hang in native code":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            ctypes.CDLL(None).pause()
        case b"exit":
            os._exit(3)
        case b"swell":
            bytearray(300 * MIB)
        case b"page":
            return (prepare_page(RawPage("https://e.org/", b"<p>a page</p>".ljust(1000))),)
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


@pytest.fixture
async def hasty_pool() -> AsyncIterator[PreparationPool]:
    """Of little patience with messages that hang."""
    with closing(PreparationPool(hostile, 2, PageLimits(seconds=2.0))) as running:
        await running.start()
        yield running


def messages(*values: str) -> list[Message]:
    return [Message(None, value.encode()) for value in values]


def told(outcomes: list[Outcomes]) -> list[str]:
    """What became of each message: the detail of a skip, the reason of a broken one."""
    assert all(isinstance(each, tuple) and len(each) == 1 for each in outcomes)
    found = [each[0] for each in outcomes if isinstance(each, tuple)]
    return [
        each.detail if isinstance(each, Skipped) else each.reason.value
        for each in found
        if not isinstance(each, PreparedPage)
    ]


def children() -> list[psutil.Process]:
    """The preparation processes: the children of the fork server."""
    servers = (child for child in psutil.Process().children() if "forkserver" in " ".join(child.cmdline()))
    return [child for server in servers for child in server.children()]


async def test_outcomes_come_in_the_order_of_the_messages(pool: PreparationPool) -> None:
    values = [str(number) for number in range(50)]
    assert told(await pool.prepare(messages(*values))) == values


@pytest.mark.parametrize(
    ("guilty", "reason"),
    [
        ("segfault", BrokenReason.PROCESS_CRASHED),
        ("exit", BrokenReason.PROCESS_CRASHED),
        ("hang", BrokenReason.TIME_BUDGET_EXCEEDED),
        ("hang in native code", BrokenReason.TIME_BUDGET_EXCEEDED),
    ],
)
async def test_a_message_that_breaks_its_process_is_broken_alone(
    hasty_pool: PreparationPool, guilty: str, reason: BrokenReason
) -> None:
    outcomes = await hasty_pool.prepare(messages("a", guilty, "b", guilty, "c"))
    assert told(outcomes) == ["a", reason.value, "b", reason.value, "c"]


async def test_a_kill_from_outside_breaks_no_message(pool: PreparationPool, tmp_path) -> None:
    once = Message(os.fsencode(tmp_path / "died"), b"once")
    assert told(await pool.prepare([*messages("a"), once, *messages("b")])) == ["a", "once", "b"]


async def test_a_stopped_process_is_replaced(
    hasty_pool: PreparationPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.preparation.process._STUCK_SECONDS", 0.2)
    guard = asyncio.create_task(hasty_pool.kill_the_stuck())
    before = children()
    for child in before:
        child.suspend()
    outcomes = await asyncio.gather(*(hasty_pool.prepare(messages("a", "b")) for _ in range(4)))
    assert [told(each) for each in outcomes] == [["a", "b"]] * 4
    assert not any(child.is_running() for child in before)
    guard.cancel()


async def test_a_process_that_waits_for_messages_is_not_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.preparation.process._START_SECONDS", 0.0)
    with closing(PreparationPool(hostile, 1, PageLimits())) as pool:
        await pool.start()
        started = children()
        for process in pool._processes:
            process.kill_if_stuck()
        assert told(await pool.prepare(messages("a"))) == ["a"]
        assert children() == started


async def test_a_process_that_has_swollen_makes_place_for_a_fresh_one(pool: PreparationPool) -> None:
    swollen = {child.pid for child in children()}
    for _ in swollen:
        assert told(await pool.prepare(messages("swell", "a"))) == ["swell", "a"]
    assert told(await pool.prepare(messages("b"))) == ["b"]
    assert not swollen & {child.pid for child in children()}


@pytest.mark.parametrize(
    ("values", "room", "answered"),
    [
        (["page"] * 4, 2000, 2),
        (["page"] * 4, 2001, 3),
        (["page"] * 4, 1, 1),
        (["page"] * 4, 4000, 4),
        (["page", "segfault", "page", "page"], 2000, 3),
        (["a"] * 4, 1, 4),
    ],
)
async def test_a_batch_is_prepared_as_far_as_there_is_room_for_its_html(
    pool: PreparationPool, values: list[str], room: int, answered: int
) -> None:
    assert len(await pool.prepare(messages(*values), room)) == answered
    assert told(await pool.prepare(messages("a", "b"))) == ["a", "b"]


async def test_batches_run_in_parallel(hasty_pool: PreparationPool) -> None:
    hanging = asyncio.create_task(hasty_pool.prepare(messages("hang")))
    assert told(await hasty_pool.prepare(messages("a"))) == ["a"]
    assert not hanging.done()
    assert told(await hanging) == [BrokenReason.TIME_BUDGET_EXCEEDED.value]


async def test_a_process_that_cannot_start_is_no_message_s_fault() -> None:
    pool = PreparationPool(refused, 1, PageLimits())
    with pytest.raises(ConfigurationError, match="no such source"):
        await pool.prepare(messages("a"))
    pool.close()
