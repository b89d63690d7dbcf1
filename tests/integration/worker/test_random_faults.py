"""Faults of workers and services in a random order: nothing is lost, and no newer document replaced."""

import asyncio
import random
import signal
import time
from collections.abc import Iterator

import orjson
import pytest

from dehusk.streams.sources.source import Record
from tests.integration.worker.conftest import Bench, Worker
from tests.integration.worker.frozen import freeze, thaw
from tests.integration.worker.test_frozen import newest, published

SECONDS, SEED = 30.0, 1
LENGTHS = (0.5, 3, 9, 14)
"""Seconds that faults last; the session of a worker is six."""


def changing(pages: list[Record], chance: random.Random) -> Iterator[Record]:
    """The pages in a random order, each time in another version."""
    version = 0
    while True:
        version, page = version + 1, chance.choice(pages)
        yield Record(page.key, (page.value or b"").replace(b"</main>", b"<p>Version %d</p></main>" % version))


class Faults:
    """Faults of the workers and services of a test, in an order that a seed tells."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self._bench = bench
        self._chance = random.Random(seed)
        self._begun = time.monotonic()
        self._busy: set[str] = set()
        """Names of workers and services to which something happens."""

    async def run(self) -> None:
        """Let faults happen, several at a time, until their time is over and all of them have ended."""
        async with asyncio.TaskGroup() as faults:
            while time.monotonic() < self._begun + SECONDS:
                await asyncio.sleep(self._chance.uniform(0.2, 4))
                self.start_ended()
                workers = [worker.folder.name for worker in self._bench.workers]
                name = self._chance.choice([*workers, *self._bench.stack.services])
                if name not in self._busy:
                    self._busy.add(name)
                    faults.create_task(self._fault(name))

    def start_ended(self) -> None:
        """Start the workers again that have ended, as a supervisor would."""
        for worker in self._bench.workers:
            if worker.folder.name not in self._busy and not worker.is_alive():
                self._say(worker.folder.name, f"ended with {worker.process.returncode}")
                worker.start()

    async def _fault(self, name: str) -> None:
        worker = next((each for each in self._bench.workers if each.folder.name == name), None)
        seconds = self._chance.choice(LENGTHS)
        kind = self._chance.choice(["kill", "stop", "freeze"])
        self._say(name, f"{kind} {seconds}")
        if worker is None:
            service = self._bench.stack.services[name]
            begin, end = (
                (service.pause, service.resume) if kind == "freeze" else (service.kill, service.start)
            )
            await asyncio.to_thread(begin)
            await asyncio.sleep(seconds)
            await asyncio.to_thread(end)
        else:
            await _fault_of_worker(worker, kind, seconds)
        self._say(name, "runs")
        self._busy.discard(name)

    def _say(self, name: str, what: str) -> None:
        print(f"{time.monotonic() - self._begun:5.1f} {name}: {what}")  # noqa: T201 shown if the test fails


async def _fault_of_worker(worker: Worker, kind: str, seconds: float) -> None:
    if kind == "freeze":
        freeze(worker)
        await asyncio.sleep(seconds)
        thaw(worker)
        return
    worker.process.send_signal(signal.SIGKILL if kind == "kill" else signal.SIGTERM)
    await asyncio.to_thread(worker.process.wait)
    worker.start()


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_faults_in_any_order_lose_nothing_and_replace_nothing_newer(bench, site, delivery: str) -> None:
    for labeler in ("rules", "rules", "triton"):
        options = ("--source", "html", "--delivery", delivery, "--labeler", labeler)
        bench.worker(*options, "--grace-seconds", "20", "--redis-seconds", "2")
    await bench.until(lambda: any(worker.has_partitions() for worker in bench.workers))
    faults = Faults(bench, SEED)
    async with bench.crawling(changing(site(200), random.Random(SEED)), at_once=20, pause=0.2):
        await faults.run()
    faults.start_ended()
    await bench.until_done(patience=200)

    documents = await published(bench)
    assert {key: offsets[-1] for key, offsets in documents.items()} == await newest(bench)
    places = [
        (source["partition"], source["offset"])
        for source in (orjson.loads(message.value)["source"] for message in await bench.documents())
    ]
    messages = {(message.partition, message.offset) for message in await bench.messages(bench.topics.input)}
    assert {*places} == messages
    assert len(places) == len(messages) or delivery == "at-least-once"
