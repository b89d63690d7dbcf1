"""Workers that are told to stop while they start, and what killed ones leave to those that start next."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A service that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.mark.parametrize("option", ["--brokers", "--triton"])
async def test_a_worker_that_waits_for_a_service_at_its_start_stops_at_once(
    bench, silent: socket.socket, option: str
) -> None:
    host, port = silent.getsockname()
    worker = bench.worker("--labeler", "triton", "--grace-seconds", "600", option, f"{host}:{port}")
    connection, _ = await asyncio.to_thread(silent.accept)
    with connection:
        assert await asyncio.to_thread(worker.stop) == 0
    assert worker.says("stopped before it had started")
    assert not worker.says("Traceback")


@pytest.fixture
def heeded(number: signal.Signals) -> Iterator[None]:
    """Let what is started heed a signal, also where the tests run under nohup or in the background."""
    before = signal.getsignal(number)
    if before is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
    yield
    signal.signal(number, before)


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
async def test_a_signal_at_any_moment_of_the_start_ends_a_worker_as_documented(
    bench, silent: socket.socket, number: signal.Signals
) -> None:
    host, port = silent.getsockname()
    for tenths in range(0, 30, 10):
        worker = bench.worker("--brokers", f"{host}:{port}")
        await asyncio.sleep(tenths / 10)
        worker.process.send_signal(number)
        status = await asyncio.to_thread(worker.process.wait)
        documented = {0, 128 + number, -number}  # the last is the shells' 128 + number
        # Python itself ends with 1 where it is interrupted before it runs any of dehusk's code.
        assert status in documented or worker.says("Failed to import the site module"), worker.log.read_text()


def folders(parent: Path) -> set[Path]:
    return set(parent.glob("pymp-*"))


async def test_what_a_killed_worker_leaves_the_next_one_removes(
    bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    foreign = tmp_path / "pymp-foreign"
    foreign.mkdir()
    killed = bench.worker()
    await bench.until(killed.has_partitions)
    other = bench.worker()
    await bench.until(other.has_partitions)
    left = folders(tmp_path)
    killed.kill()
    killed.start()
    await bench.until(killed.has_partitions)
    assert len(left) == 3
    kept = folders(tmp_path)
    assert len(kept) == 3
    assert len(kept & left) == 2
    assert [killed.stop(), other.stop()] == [0, 0]
    assert folders(tmp_path) == {foreign}
