"""Measurement of a worker that empties a backlog."""

from types import SimpleNamespace

import click
import pytest

from benchmarks import stream
from dehusk.streams.monitoring.state import Totals


class Monitoring:
    """Monitoring pages of a worker that has finished these numbers of pages when it is asked."""

    def __init__(self, *pages: int) -> None:
        self.pages = list(pages)

    def report(self) -> SimpleNamespace:
        pages = self.pages.pop(0) if len(self.pages) > 1 else self.pages[0]
        return SimpleNamespace(totals=Totals(pages, 10 * pages, pages, pages, 0, 0, 0, 0))

    def metric(self, name: str, label: str) -> dict[str, float]:
        return {}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(stream, "processes_on", lambda port: [])
    times = iter(range(100))
    monkeypatch.setattr(stream, "cpu", lambda processes: [float(next(times)), 0.0])


def watch(*pages: int) -> stream.DrainCost:
    program = SimpleNamespace(port=1, monitoring=Monitoring(*pages))
    stack = SimpleNamespace(addresses=SimpleNamespace(triton_grpc=""))
    return stream.watch(program, stack, "rules", pages[-1], with_sites=True)


def test_what_is_measured_is_from_the_first_finished_page_to_the_last() -> None:
    cost = watch(0, 2, 5, 8)
    assert (cost.pages, cost.bytes) == (6, 60)
    assert cost.worker_cpu > 0


def test_a_backlog_that_is_done_with_at_once_is_too_small() -> None:
    with pytest.raises(click.UsageError, match="done with all 3 pages at once"):
        watch(0, 3)
