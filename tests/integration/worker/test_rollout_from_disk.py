"""A version from its directory to the whole crawl and back, on a Triton that serves the newest one alone."""

import asyncio
import shutil
import time
from pathlib import Path

import pytest

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model, served, trusted, versions
from dehusk.inference.labelers.triton import FOLLOW_SECONDS
from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.models.server import ModelServer
from dehusk.streams.rollout.control import change_state
from dehusk.streams.rollout.transitions import without_version
from dehusk.streams.settings import ControlTopic
from dehusk.streams.worker.rollout.plan import is_of_share
from tests.commands import DEHUSK
from tests.integration.conftest import Stack
from tests.integration.worker.test_rollout import HOSTS, Rollout

SEVEN = find_model(DEFAULT_REPOSITORY, "dehusk")[1].parent
"""Default model, which is version 7 here."""


@pytest.fixture
def triton(tmp_path: Path):
    """A Triton that serves version 7 by the policy that the model comes with."""
    model = tmp_path / "models" / "dehusk"
    shutil.copytree(SEVEN, model / "7")
    shutil.copy(DEFAULT_REPOSITORY / "dehusk" / "config.pbtxt", model)
    (tmp_path / "triton").mkdir()
    with Stack(tmp_path / "triton", repository=model.parent, services=("triton",)) as stack:
        yield stack


class Flow(Rollout):
    """The commands on a repository that they see."""

    def __init__(self, bench, triton: LocalStack, page_at) -> None:
        super().__init__(bench, triton.addresses.triton_grpc, page_at)
        self.triton = triton
        self.repository = triton._repository
        self.place = ("--triton", self.address, "--repository", str(self.repository), "--yes")

    async def add(self, version: str) -> None:
        """Put a copy of version 7 into the repository."""
        command = (DEHUSK, "model", "add", SEVEN, "--version", version, *self.place)
        running = await asyncio.create_subprocess_exec(*command)
        assert await running.wait() == 0

    async def change(self, name: str, *words: str, status: int = 0) -> str:
        return await self.move(name, *words, "--repository", str(self.repository), status=status)

    async def ask(self, name: str, *words: str) -> asyncio.subprocess.Process:
        """Return a command that has shown the change it is to make, and waits for the answer."""
        control = ("--brokers", self.bench.kafka.brokers, "--control-topic", self.topic)
        group = ("--group", self.bench.topics.group)
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
        command = (DEHUSK, "model", name, *words, *self.place[:-1], *control, *group)
        running = await asyncio.create_subprocess_exec(*command, **pipes)
        assert running.stderr is not None
        await running.stderr.readuntil(b"[y/N]")
        return running

    async def labeled(self, folder: str) -> dict[str, set[str]]:
        """The versions that label the pages of each host now."""
        await self.produce(folder)
        await self.bench.until_done()
        return await self.versions(folder)

    async def until_ready(self, versions: list[str]) -> None:
        """Wait until Triton serves these versions, as a worker has it unload what is left."""
        deadline, ready = time.monotonic() + 120, await self.ready()
        while ready != versions and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
            ready = await self.ready()
        assert ready == versions, self.bench.logs()

    async def ready(self) -> list[str]:
        async with ModelServer(self.address) as server:
            return await server.ready("dehusk")


@pytest.fixture
async def flow(bench, triton, page_at) -> Flow:
    made = Flow(bench, triton, page_at)
    await create_topics(bench.kafka, [Topic(made.topic, 1, 1, {"cleanup.policy": "compact"})])
    return made


def shared(share: float) -> dict[str, set[str]]:
    """The versions of each host, where 8 has a share of the sites."""
    return {host: {"8" if is_of_share(host, share) else "7"} for host in HOSTS}


async def test_a_version_is_added_tried_promoted_taken_back_and_removed(flow) -> None:
    bench, workers = flow.bench, [flow.worker() for _ in range(2)]
    for worker in workers:
        await bench.until(worker.has_partitions)
    await flow.add("8")
    assert await flow.labeled("added") == shared(0)
    assert await flow.ready() == ["7"]
    await flow.produce("meanwhile", pages=10)
    await flow.change("canary", "dehusk/8", "--share", "0.2")
    assert await flow.ready() == ["7", "8"]
    assert await flow.labeled("canary") == shared(0.2)
    meanwhile = await flow.versions("meanwhile")
    assert all("8" not in meanwhile[host] or is_of_share(host, 0.2) for host in HOSTS)
    assert "2 workers followed within" in await flow.change("canary", "dehusk/8", "--share", "0.6")
    assert await flow.labeled("more") == shared(0.6)
    assert "roll-out of model dehusk" in await flow.run("remove", "dehusk/8", *flow.place, status=1)
    await flow.change("promote", "dehusk/8")
    assert await flow.labeled("promoted") == shared(1)
    assert "goes back to it" in await flow.run("remove", "dehusk/7", *flow.place, status=1)
    await flow.change("rollback", "dehusk")
    assert served(flow.repository, "dehusk") == ["7"]
    assert await flow.labeled("back") == shared(0)
    await flow.until_ready(["7"])
    await flow.run("remove", "dehusk/8", *flow.place)
    assert (await flow.ready(), served(flow.repository, "dehusk")) == (["7"], ["7"])
    assert versions(flow.repository, "dehusk") == ["7"]
    assert await flow.labeled("removed") == shared(0)
    status = await flow.status()
    assert (status["state"]["serving"], status["state"]["revision"]) == ("7", 4)
    assert [each["serving"] for each in status["workers"]] == ["7", "7"]
    counted = [worker.metric("dehusk_documents_by_version_total", "version") for worker in workers]
    assert sum(each.get("7", 0) + each.get("8", 0) for each in counted) == len(flow.produced)
    await flow.check_nothing_is_lost()


async def test_workers_of_another_group_without_a_state_are_not_moved(flow) -> None:
    bench, worker = flow.bench, flow.worker()
    other = flow.worker("--group", f"{bench.topics.group}-other")
    for each in (worker, other):
        await bench.until(each.has_partitions)
    await flow.add("8")
    await flow.change("canary", "dehusk/8", "--share", "0.2")
    assert await flow.ready() == ["7", "8"]
    told = await flow.change("promote", "dehusk/8", status=1)
    assert f"--group {bench.topics.group}-other" in told
    assert trusted(flow.repository, "dehusk") == "7"
    group = ("--group", f"{bench.topics.group}-other")
    await flow.run("promote", "dehusk/7", *flow.place, *group, "--wait")
    assert "1 worker followed" in await flow.change("promote", "dehusk/8")
    assert trusted(flow.repository, "dehusk") == "8"


async def test_workers_without_a_control_topic_stay_with_the_trusted_version(flow) -> None:
    """While another group tries a version; and follow once it is promoted."""
    bench = flow.bench
    worker = bench.worker("--labeler", "triton", "--triton", flow.address)
    await bench.until(worker.has_partitions)
    await flow.add("8")
    group = ("--group", f"{bench.topics.group}-other")
    await flow.run("promote", "dehusk/7", *flow.place, *group)
    await flow.run("canary", "dehusk/8", "--share", "1", *flow.place, *group)
    assert await flow.ready() == ["7", "8"]
    assert await flow.labeled("tried") == shared(0)
    await asyncio.to_thread(flow.triton.services["triton"].restart)
    assert await flow.ready() == ["7", "8"]
    assert await flow.labeled("restarted") == shared(0)
    await flow.run("promote", "dehusk/8", *flow.place, *group)
    await asyncio.sleep(FOLLOW_SECONDS)
    assert await flow.labeled("promoted") == shared(1)
    await flow.check_nothing_is_lost()


async def test_a_version_that_was_taken_back_is_trusted_no_more_after_a_restart_of_triton(flow) -> None:
    worker = flow.worker()
    await flow.bench.until(worker.has_partitions)
    await flow.add("8")
    await flow.change("promote", "dehusk/8")
    topic, scope = ControlTopic(flow.bench.kafka, flow.topic), flow.scope
    promoted = (await flow.control()).states[scope]
    back = without_version(promoted, "8", "another worker", "version 8 taken back, latency")
    assert back is not None
    await change_state(topic, scope, back)
    await flow.until_ready(["7"])
    assert (served(flow.repository, "dehusk"), trusted(flow.repository, "dehusk")) == (["7", "8"], "8")
    await asyncio.to_thread(flow.triton.services["triton"].restart)
    await flow.until_ready(["7"])
    assert await flow.labeled("restarted") == shared(0)


async def test_of_two_operators_at_once_one_changes_nothing_and_is_told(flow) -> None:
    for version in ("8", "9"):
        await flow.add(version)
    await flow.change("promote", "dehusk/7")
    asked = {each: await flow.ask("canary", f"dehusk/{each}", "--share", "0.2") for each in ("8", "9")}
    ended = await asyncio.gather(*(each.communicate(b"y\n") for each in asked.values()))
    status = {version: running.returncode for version, running in asked.items()}
    assert sorted(status.values()) == [0, 1], ended
    (winner,) = (version for version in status if status[version] == 0)
    (told,) = (err.decode() for (_, err), failed in zip(ended, status.values(), strict=True) if failed)
    assert "nothing was changed" in told or "changed meanwhile" in told
    state = (await flow.status())["state"]
    assert (state["revision"], state["canary"]["version"]) == (2, winner)
    assert await flow.ready() == served(flow.repository, "dehusk") == ["7", winner]
