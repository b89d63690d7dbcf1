"""Versions that are tried on a part of a crawl, promoted and taken back, on the real Kafka and Triton."""

import asyncio
import shutil
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Sequence

import orjson
import pytest
from aiohttp import web

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.schemas.rollout import Scope
from dehusk.schemas.trials import SHADOW, Figures, total_comparison, total_figures
from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.rollout.control import Control, read_control
from dehusk.streams.settings import ControlTopic
from tests.commands import DEHUSK
from tests.integration.conftest import Stack
from tests.integration.worker.conftest import PATIENCE

NEWEST_ONLY = "version_policy { latest { num_versions: 1 } }"
QUICK = """
from dehusk.streams.rollout import control

control.REPORT_SECONDS = 1.0

from dehusk.streams.worker.rollout import unloading

unloading.QUIET_SECONDS = unloading.RETRY_SECONDS = 3.0

from dehusk.streams.__main__ import main

main()
"""
QUICK_WORKER = (sys.executable, "-c", QUICK, "worker")
"""A worker that reports more often, and so is judged sooner, and has versions unloaded sooner."""
HOSTS = [f"host-{number}.example" for number in range(30)]


@pytest.fixture(scope="module")
def triton(tmp_path_factory):
    """The address of a Triton that serves the default model twice: as versions 7 and 8."""
    model = tmp_path_factory.mktemp("models") / "dehusk"
    shutil.copytree(find_model(DEFAULT_REPOSITORY, "dehusk")[1].parent, model / "7")
    shutil.copytree(model / "7", model / "8")
    configuration = (DEFAULT_REPOSITORY / "dehusk" / "config.pbtxt").read_text()
    assert NEWEST_ONLY in configuration
    (model / "config.pbtxt").write_text(configuration.replace(NEWEST_ONLY, "version_policy { all { } }"))
    with Stack(tmp_path_factory.mktemp("own"), repository=model.parent, services=("triton",)) as stack:
        yield stack.addresses.triton_grpc


class Rollout:
    """The commands of a roll-out, and workers that follow it."""

    def __init__(self, bench, address: str, page_at) -> None:
        self.bench = bench
        self.address = address
        self.page_at = page_at
        self.topic = f"{bench.topics.group}-control"
        self.produced: list[bytes] = []

    @property
    def scope(self) -> Scope:
        return Scope("dehusk", self.bench.topics.group)

    def worker(self, *options: str):
        labeler = ("--labeler", "triton", "--triton", self.address, "--triton-seconds", "5")
        followed = (*labeler, "--control-topic", self.topic)
        return self.bench.worker(*followed, *options, program=QUICK_WORKER)

    async def run(self, name: str, *words: str, status: int = 0) -> str:
        """Return the output of a command."""
        where = ("--brokers", self.bench.kafka.brokers, "--control-topic", self.topic)
        command = (DEHUSK, "model", name, *words, *where)
        running = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, err = await running.communicate()
        assert running.returncode == status, (out, err, self.bench.logs())
        return (out if status == 0 else err).decode()

    async def move(self, name: str, *words: str, status: int = 0) -> str:
        """Return the output of a change that waits for workers; it asks Triton, if there is one."""
        group = ("--group", self.bench.topics.group)
        triton = ("--triton", self.address) if self.address else ("--without-triton",)
        place = () if name in ("pause", "resume") or "--without-triton" in words else triton
        return await self.run(name, *words, *place, *group, "--yes", "--wait", status=status)

    async def status(self) -> dict:
        group = ("--group", self.bench.topics.group)
        return orjson.loads(await self.run("status", "dehusk", *group, "--json"))

    async def control(self) -> Control:
        """Return the records of the control topic."""
        return await read_control(ControlTopic(self.bench.kafka, self.topic))

    async def until(self, condition: Callable[[Control], bool]) -> Control:
        """Return the records of the control topic once they meet a condition."""
        async with asyncio.timeout(2 * PATIENCE):
            control = await self.control()
            while not condition(control):
                await asyncio.sleep(0.5)  # what is asked often slows what is waited for
                control = await self.control()
        return control

    async def produce(self, folder: str, pages: int = 3, hosts: Sequence[str] = HOSTS) -> None:
        records = [self.page_at(f"https://{host}/{folder}/{n}", n) for n in range(pages) for host in hosts]
        self.produced += [record.key for record in records]
        await self.bench.produce(records)

    async def versions(self, folder: str) -> dict[str, set[str]]:
        """Return the versions that labeled the pages of each host in a folder."""
        found = defaultdict(set)
        for message in await self.bench.documents():
            document = orjson.loads(message.value)
            host, part = document["url"].split("/")[2:4]
            if part == folder:
                assert document["degraded"] == []
                found[host].add(document["model"]["version"])
        return found

    async def check_nothing_is_lost(self) -> None:
        assert {message.key for message in await self.bench.documents()} == set(self.produced)
        assert not await self.bench.dead_letters()


def rollbacks(worker) -> Counter[str]:
    """Count the versions that a worker has taken back, by the reason."""
    return +Counter(worker.metric("dehusk_rollbacks_total", "reason"))


async def _open(bench, address: str, page_at) -> Rollout:
    rollout = Rollout(bench, address, page_at)
    await create_topics(bench.kafka, [Topic(rollout.topic, 1, 1, {"cleanup.policy": "compact"})])
    return rollout


@pytest.fixture
async def rollout(bench, triton, page_at) -> Rollout:
    return await _open(bench, triton, page_at)


async def test_workers_promote_a_version_in_steps_that_can_be_paused(rollout) -> None:
    bench = rollout.bench
    workers = [rollout.worker() for _ in range(2)]
    for worker in workers:
        await bench.until(worker.has_partitions)
    await rollout.move("promote", "dehusk/7")
    steps = ("--steps", "30%,60%", "--hold", "1s", "--limit", "least-pages=10", "--limit", "least-calls=2")
    await rollout.move("promote", "dehusk/8", *steps, "--limit", "most-latency=1e9")
    await rollout.move("pause", "dehusk")
    await _cleaned_until(rollout, lambda control: _pages_of("8", rollout, control) >= 10)
    status = await rollout.status()
    assert (status["state"]["canary"]["share"], status["next_step"]) == (0.3, "paused")
    await rollout.move("resume", "dehusk")
    workers[0].kill()
    await _cleaned_until(rollout, lambda control: control.states[rollout.scope].serving == "8")
    history = await rollout.run("history", "dehusk", "--group", bench.topics.group, "--json")
    changes = orjson.loads(history)["changes"]
    assert [each["revision"] for each in changes] == [1, 2, 3, 4, 5, 6]
    assert [bool(each["canary"]) for each in changes] == [False, True, True, True, True, False]
    await bench.until_done()
    await rollout.check_nothing_is_lost()


async def test_steps_that_wait_for_pages_in_vain_are_paused_and_this_is_told(rollout, told) -> None:
    url, events = told
    bench, worker = rollout.bench, rollout.worker("--webhook", url)
    await bench.until(worker.has_partitions)
    await rollout.move("promote", "dehusk/7")
    await rollout.move("promote", "dehusk/8", "--steps", "10%", "--hold", "1s", "--give-up-after", "1s")
    await bench.until(lambda: events)
    (event,) = events
    assert (event["event"], event["version"], event["revision"]) == ("promotion-stalled", "8", 3)
    status = await rollout.status()
    assert (status["next_step"], status["state"]["canary"]["share"]) == ("paused", 0.1)
    assert "stalled: " in status["state"]["change"]["reason"]
    assert "waits for 200 compared pages and 200 timed calls: 0 and 0" in event["reason"]


async def _cleaned_until(rollout: Rollout, condition: Callable[[Control], bool]) -> None:
    """Have workers clean pages until the control topic meets a condition."""
    deadline = time.monotonic() + 2 * PATIENCE
    while not condition(await rollout.control()):
        assert time.monotonic() < deadline, (await rollout.status(), rollout.bench.logs())
        await rollout.produce(str(len(rollout.produced)), pages=1)
        await rollout.bench.until_done()


def _pages_of(version: str, rollout: Rollout, control: Control) -> int:
    """Return the number of pages that workers report of a version."""
    return total_figures(control.evidence(rollout.scope)).get(version, Figures()).pages


async def test_a_version_that_is_not_served_is_refused_and_pages_go_on(rollout) -> None:
    bench, worker = rollout.bench, rollout.worker()
    await bench.until(worker.has_partitions)
    await rollout.move("promote", "dehusk/7")
    await rollout.produce("before")
    missing = await rollout.move("promote", "dehusk/99", status=1)
    assert "serves version 7, 8 of model 'dehusk'" in missing
    assert (await rollout.status())["state"]["revision"] == 1
    told = await rollout.move("promote", "dehusk/99", "--without-triton", status=1)
    assert "version 99" in told
    await rollout.produce("behind")
    await bench.until_done()
    assert {*map(frozenset, (await rollout.versions("behind")).values())} == {frozenset("7")}
    await bench.until(lambda: rollbacks(worker) == {"refused": 1})
    status = await rollout.status()
    assert (status["state"]["serving"], status["state"]["revision"]) == ("7", 3)
    assert "version 99 taken back, refused" in status["state"]["change"]["reason"]
    await rollout.check_nothing_is_lost()
    again = rollout.worker()
    await bench.until(again.has_partitions)
    assert again.says("labels by version 7")


@pytest.fixture
async def proxied(bench, triton, page_at, open_proxy) -> AsyncIterator[tuple[Rollout, object]]:
    async with open_proxy(triton) as proxy:
        yield await _open(bench, proxy.address, page_at), proxy


@pytest.mark.parametrize(("step", "fault"), [("canary", "refused"), ("promote", "nan")])
async def test_a_version_that_fails_is_taken_back_and_costs_no_page(proxied, step: str, fault: str) -> None:
    rollout, proxy = proxied
    bench, workers = rollout.bench, [rollout.worker() for _ in range(2)]
    for worker in workers:
        await bench.until(worker.has_partitions)
    await rollout.move("promote", "dehusk/7")
    await rollout.move(step, "dehusk/8", *(("--share", "0.5") if step == "canary" else ()))
    proxy.spoil = lambda request: fault if request.model_version == "8" else None
    await rollout.produce("failing")
    await bench.until_done()
    reason = {"nan": "no-probabilities", "refused": "errors"}[fault]
    await bench.until(lambda: sum(map(rollbacks, workers), Counter()) == {reason: 1})
    status = await rollout.status()
    assert (status["state"]["serving"], status["state"]["canary"]) == ("7", None)
    assert status["state"]["revision"] == 3
    assert {*map(frozenset, (await rollout.versions("failing")).values())} == {frozenset("7")}
    assert not any(worker.says("triton is unavailable") for worker in workers)
    await rollout.check_nothing_is_lost()


@pytest.fixture
async def told() -> AsyncIterator[tuple[str, list[dict]]]:
    """The URL of a webhook, and the events that it is told."""
    events: list[dict] = []

    async def take(request: web.Request) -> web.Response:
        events.append(await request.json())
        return web.Response()

    app = web.Application()
    app.router.add_post("/secret", take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    ((host, port),) = runner.addresses
    yield f"http://{host}:{port}/secret", events
    await runner.cleanup()


async def test_a_webhook_is_told_once_of_a_version_taken_back_and_of_a_worker_that_is_gone(
    proxied, told
) -> None:
    (rollout, proxy), (url, events) = proxied, told
    bench, workers = rollout.bench, [rollout.worker("--webhook", url) for _ in range(3)]
    for worker in workers:
        await bench.until(worker.has_partitions)
    await rollout.move("promote", "dehusk/7")
    await rollout.move("canary", "dehusk/8", "--share", "0.5")
    proxy.spoil = lambda request: "nan" if request.model_version == "8" else None
    await rollout.produce("failing")
    await bench.until(lambda: events)
    names = {each["worker"] for each in (await rollout.status())["workers"]}
    workers[0].kill()
    assert workers[1].stop() == 0
    await bench.until(lambda: len(events) > 1)
    back, gone = events
    assert (back["event"], back["version"], back["serving"]) == ("version-taken-back", "8", "7")
    assert (gone["event"], gone["by"] in names, gone["worker"] in names) == ("worker-gone", True, True)
    assert [each["worker"] for each in (await rollout.status())["workers"]] == [gone["by"]]
    assert not any("secret" in worker.log.read_text() for worker in workers)


async def test_a_triton_that_is_away_for_a_while_is_not_the_fault_of_a_canary(proxied) -> None:
    rollout, proxy = proxied
    bench, worker = rollout.bench, rollout.worker()
    await bench.until(worker.has_partitions)
    await rollout.move("promote", "dehusk/7")
    await rollout.move("canary", "dehusk/8", "--share", "0.5")
    proxy.spoil = lambda _: "refused"
    await rollout.produce("waiting")
    await bench.until(lambda: not worker.is_ready())
    proxy.spoil = lambda _: None
    await bench.until_done()
    status = await rollout.status()
    assert status["state"]["canary"] == {"version": "8", "share": 0.5}
    await rollout.check_nothing_is_lost()


async def test_a_shadow_is_compared_and_nothing_of_it_is_published(proxied) -> None:
    rollout, proxy = proxied
    bench, worker = rollout.bench, rollout.worker()
    await bench.until(worker.has_partitions)
    await rollout.move("promote", "dehusk/7", "--limit", "probation-seconds=0")
    await rollout.move("shadow", "dehusk/8", "--share", "1")
    await rollout.produce("seen", pages=10)
    await bench.until_done()
    assert {*map(frozenset, (await rollout.versions("seen")).values())} == {frozenset("7")}
    compared = await _comparison(rollout)
    assert (compared["differing"], compared["examples"]) == (0, [])
    assert compared["serving"]["kept"] == compared["shadow"]["kept"] > 0
    proxy.spoil = lambda request: "nan" if request.model_version == "8" else None
    await rollout.produce("spoiled", pages=10)
    await bench.until_done()
    await bench.until(lambda: rollbacks(worker) == {"no-probabilities": 1})
    assert (await rollout.status())["state"]["shadow"] is None
    await rollout.check_nothing_is_lost()


async def _comparison(rollout: Rollout, beyond: int = 0) -> dict:
    """Return the state of the shadow, once its worker reports more than so many pages."""
    await rollout.until(
        lambda control: total_comparison(control.evidence(rollout.scope), SHADOW).shadow.pages > beyond
    )
    return (await rollout.status())["comparison"]


async def test_what_a_worker_saw_that_stops_during_a_trial_stays_counted(rollout) -> None:
    bench, worker = rollout.bench, rollout.worker()
    await bench.until(worker.has_partitions)
    await rollout.move("promote", "dehusk/7", "--limit", "probation-seconds=0")
    await rollout.move("shadow", "dehusk/8", "--share", "1")
    await rollout.produce("first", pages=1)
    await bench.until_done()
    seen = (await _comparison(rollout))["pages"]
    assert worker.stop() == 0
    status = await rollout.status()
    assert status["workers"] == []
    assert status["comparison"]["pages"] >= seen
    assert status["figures"]["7"]["pages"] >= len(rollout.produced)
    seen, other = status["comparison"]["pages"], rollout.worker()
    await bench.until(other.has_partitions)
    await rollout.produce("second", pages=1)
    await bench.until_done()
    compared = (await _comparison(rollout, beyond=seen))["pages"]
    assert compared <= len(rollout.produced)
    await rollout.move("rollback", "dehusk")
    shown = await rollout.run(
        "show", "dehusk/8", "--triton", rollout.address, "--group", bench.topics.group, "--json"
    )
    (ended,) = orjson.loads(shown)["rollout"]["ended"]
    assert compared <= ended["comparison"]["pages"] <= len(rollout.produced)
    assert ended["workers"] == 2


async def test_a_worker_that_cannot_read_the_topic_says_so(bench) -> None:
    worker = bench.worker("--labeler", "onnx", "--control-topic", f"{bench.topics.group}-missing")
    await bench.until(lambda: not worker.is_alive())
    assert worker.says(f"missing on {bench.kafka.brokers}: {bench.topics.group}-missing")


async def test_the_version_in_process_follows_the_topic_too(bench, page_at) -> None:
    rollout = await _open(bench, "", page_at)
    worker = bench.worker("--labeler", "onnx", "--control-topic", rollout.topic)
    await bench.until(worker.has_partitions)
    newest = find_model(DEFAULT_REPOSITORY, "dehusk")[1].parent.name
    assert "1 worker followed" in await rollout.move("promote", f"dehusk/{newest}")
    assert "holds no version 99" in await rollout.move("canary", "dehusk/99", "--share", "1", status=1)
    await rollout.produce("pages", pages=1)
    await bench.until_done()
    await rollout.check_nothing_is_lost()
