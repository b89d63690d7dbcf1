"""Heap of a worker, whose free memory is returned."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from dehusk.streams import heap as heap_module
from dehusk.streams.heap import Heap, warn_of_little_memory
from dehusk.streams.settings import MIB
from dehusk.streams.worker.process import running


@pytest.mark.parametrize(
    ("groups", "file"),
    [
        ("0::/pod/worker", "pod/memory.max"),
        ("0::/", "memory.max"),
        ("5:memory:/pod\n0::/", "memory/pod/memory.limit_in_bytes"),
        ("5:cpu,memory:/docker/1", "memory/memory.limit_in_bytes"),
    ],
)
def test_a_limit_below_what_a_worker_takes_is_said(tmp_path, monkeypatch, caplog, groups, file) -> None:
    (tmp_path / "groups").write_text(f"2:cpu:/\n{groups}\n")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(heap_module, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(heap_module, "_HIERARCHIES", tmp_path)
    for limit in ("max", f"{256 * MIB}", f"{255 * MIB}"):
        assert not caplog.messages
        (tmp_path / file).write_text(f"{limit}\n")
        warn_of_little_memory()
    assert ["to 255 MiB" in each for each in caplog.messages] == [True]


def test_limits_that_cannot_be_read_end_no_worker(tmp_path, monkeypatch, caplog) -> None:
    (tmp_path / "groups").write_text("0::/pod/worker\n")
    monkeypatch.setattr(heap_module, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(heap_module, "_HIERARCHIES", tmp_path)
    (tmp_path / "pod" / "worker").mkdir(parents=True)
    (tmp_path / "pod" / "memory.max").write_text(f"{255 * MIB}\n")
    exists, read_text = Path.exists, Path.read_text

    def refuse(file: Path, way: Callable[[Path], object]) -> object:
        if file.parent.name == "worker":
            raise PermissionError(file)
        return way(file)

    monkeypatch.setattr(Path, "exists", lambda file: refuse(file, exists))
    monkeypatch.setattr(Path, "read_text", lambda file: refuse(file, read_text))
    warn_of_little_memory()
    assert ["to 255 MiB" in each for each in caplog.messages] == [True], "the limit around it is known"


def test_memory_is_returned_after_many_bytes_and_once_more_when_they_are_delivered() -> None:
    heap = Heap()
    heap.note(8 * MIB)
    assert [heap.end_interval() for _ in range(4)] == [True, True, False, False]


def test_batches_are_counted_together() -> None:
    heap = Heap()
    for _ in range(3):
        heap.note(1 * MIB)
    assert not heap.end_interval()
    heap.note(1 * MIB)
    assert heap.end_interval()


def test_small_pages_return_nothing() -> None:
    heap = Heap()
    for _ in range(50):
        heap.note(MIB)
        assert not heap.end_interval()


def _leave_gaps() -> list[bytes]:
    """Take 100 MB of the heap and free it, but for pieces between which the gaps stay."""
    pieces = [b"a" * 20_000 + b"%d" % number for number in range(5000)]
    return [*pieces[::100], pieces[-1]]


async def test_the_gaps_of_the_heap_are_returned_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap_module, "_RELEASE_SECONDS", 0.01)
    own, heap = psutil.Process(), Heap()
    kept = _leave_gaps()
    held = own.memory_info().rss
    async with running(heap.run), asyncio.timeout(30):
        heap.note(8 * MIB)
        while own.memory_info().rss > held - 50_000_000:  # noqa: ASYNC110 the kernel sets no event
            await asyncio.sleep(0.01)
    assert len(kept) == 51
