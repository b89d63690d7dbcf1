"""Static members of a group: workers that keep their partitions while they are restarted."""

import re
from collections.abc import Callable

import pytest

from dehusk.streams.sources.source import Record
from tests.integration.worker.conftest import Bench, Worker

Pages = Callable[[int], list[Record]]


def assignments(worker: Worker) -> list[str]:
    """Return the numbers of partitions that a worker was given since its present start, by its log."""
    return re.findall(r"reads (\d+ partitions?)", worker.log.read_text(errors="replace"))


@pytest.mark.parametrize("end", ["kill", "stop"])
async def test_a_restart_moves_no_partition(bench: Bench, site: Pages, end: str) -> None:
    static = ("--session-seconds", "60", "--group-instance")
    first, second = bench.worker(*static, "first"), bench.worker(*static, "second")
    await bench.until(lambda: [assignments(each)[-1:] for each in (first, second)] == [["2 partitions"]] * 2)
    known = len(assignments(second))
    await bench.produce(site(20))
    await bench.until_done()
    getattr(first, end)()
    first.start()
    await bench.until(lambda: assignments(first) == ["2 partitions"])
    await bench.produce(site(40))
    await bench.until_done()
    assert len(assignments(second)) == known
    assert first.stop() == second.stop() == 0


async def test_two_workers_of_one_name_take_turns_and_lose_no_page(bench: Bench, site: Pages) -> None:
    first = bench.worker("--group-instance", "only")
    await bench.until(first.has_partitions)
    second = bench.worker("--group-instance", "only")
    await bench.until(second.has_partitions)
    await bench.until(lambda: len(assignments(first)) > 1 and len(assignments(second)) > 1)
    pages = site(20)
    await bench.produce(pages)
    first.kill()
    await bench.until_done()
    assert {message.key for message in await bench.documents()} == {page.key for page in pages}
