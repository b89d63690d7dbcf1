"""`dehusk model` killed after each of its writes, or frozen: Triton starts and serves the trusted version."""

import asyncio
import hashlib
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import orjson
import psutil
import pytest

from dehusk.inference.labelers.repository import CONFIG_FILE, served, trusted
from dehusk.inference.labelers.triton import TritonLabeler
from dehusk.inference.labelers.version_policy import with_versions
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.pages import Prediction
from dehusk.schemas.rollout import Part, Rollout, Scope
from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.labelers import PROBE
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.models.server import ModelServer
from dehusk.streams.rollout.control import change_state, read_control
from dehusk.streams.rollout.transitions import first_state, promote, with_canary, without_version
from dehusk.streams.settings import ControlTopic, KafkaSettings
from tests.commands import DEHUSK
from tests.integration.conftest import Stack
from tests.unit.streams.models import graphs

KILLED = """
import os, signal, sys
from dehusk.streams.__main__ import main

repository, left, frozen = sys.argv.pop(1), int(sys.argv.pop(1)), sys.argv.pop(1) == "frozen"
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = {"os.rename": 2, "os.mkdir": 1, "os.remove": 1, "os.rmdir": 1, "os.link": 2, "os.symlink": 2}

def is_seen(path):
    path = os.fsdecode(path) if isinstance(path, (str, bytes)) else ""
    if frozen:
        return path.startswith(repository) and path.endswith("config.pbtxt") and "/.staging-" in path
    return path.startswith(repository) and "/.staging-" not in path

def hook(event, arguments):
    global left
    if event == "open":
        changes = is_seen(arguments[0]) and bool(arguments[2] & WRITING)
    elif frozen:
        return
    else:
        changes = any(map(is_seen, arguments[: CHANGES.get(event, 0)]))
    if changes:
        left -= 1
        if left == -1:
            os.kill(os.getpid(), signal.SIGSTOP if frozen else signal.SIGKILL)

sys.addaudithook(hook)
main()
"""
"""A command that is killed after a number of writes; in staging folders, where nobody looks, none counts.

One that is to be frozen stops while it prepares a configuration there, before that becomes the model's.
"""

NEVER = 1000
"""More writes than any command makes."""
PATIENCE = 120.0


@pytest.fixture(scope="module")
def triton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A Triton that serves version 1 by name, with a good version 2 and a broken version 3 beside it."""
    model = tmp_path_factory.mktemp("models") / "model"
    for version in ("1", "2"):
        graphs.write_version(model / version, graphs.always(0.5))
    graphs.write_version(model / "3", graphs.model([graphs.node("Nonsense", ["zeros"], "prob")], []))
    graphs.write_config(model, "model")
    name(model, "1")
    with Stack(tmp_path_factory.mktemp("triton"), repository=model.parent, services=("triton",)) as stack:
        yield stack


def name(model: Path, *names: str, trusted_one: str = "") -> None:
    """Have the policy name versions."""
    config = model / CONFIG_FILE
    config.write_text(with_versions(config.read_text(), names, trusted_one))


def with_newest(model: Path) -> None:
    """Have the policy be that of the models of dehusk, by which Triton serves the newest version."""
    for version in ("2", "3"):
        shutil.rmtree(model / version)
    graphs.write_config(model, "model")


def nothing(_model: Path) -> None: ...


ONE = promote(first_state("1", "me"), "1", "me")
TWO = promote(ONE, "2", "me")


@dataclass(frozen=True)
class Case:
    """A command, what is there before, its exit status, and how often it writes."""

    words: tuple[str, ...]
    writes: int
    prepare: Callable[[Path], None] = nothing
    states: Sequence[Rollout] = ()
    status: int = 0


CASES = {
    "canary": Case(("canary", "model/2", "--share", "0.5"), 1, states=[ONE]),
    "canary of a broken version": Case(("canary", "model/3", "--share", "1"), 0, states=[ONE], status=1),
    "promote": Case(("promote", "model/2"), 2, states=[ONE]),
    "rollback": Case(
        ("rollback", "model"), 1, lambda model: name(model, "1", "2", trusted_one="2"), states=[ONE, TWO]
    ),
    "add": Case(("add", "NEW", "--model", "model", "--load", "--no-verify"), 3, with_newest),
    "remove": Case(("remove", "model/2"), 2),
}


class Stage:
    """A repository that is put back, and commands on it that are killed or not."""

    def __init__(self, triton: LocalStack, kafka: KafkaSettings, place: Path) -> None:
        self.triton, self.kafka, self.place = triton, kafka, place
        self.repository = triton._repository
        self.model = self.repository / "model"
        self.new = graphs.write_version(place / "new", graphs.always(0.5))
        shutil.copytree(self.model, place / "before")
        self.seen: set[str] = set()

    async def prepare(self, case: Case) -> str:
        """Put the repository back, have Triton read it, and return a control topic with the states."""
        shutil.rmtree(self.model)
        shutil.copytree(self.place / "before", self.model, copy_function=shutil.copyfile)
        case.prepare(self.model)
        async with ModelServer(self.triton.addresses.triton_grpc) as server:
            await server.load("model")
            assert await server.ready("model") == served(self.repository, "model")
        topic = f"test-{uuid4().hex[:12]}-control"
        await create_topics(self.kafka, [Topic(topic, 1, 1, {"cleanup.policy": "compact"})])
        for state in case.states:
            await change_state(ControlTopic(self.kafka, topic), Scope("model", "dehusk"), state)
        return topic

    async def run(self, words: Sequence[str], topic: str, writes: int) -> int:
        """Return the exit status of a command, which is killed after a number of writes."""
        return (await ended(await self.start(words, topic, writes)))[0]

    async def start(
        self, words: Sequence[str], topic: str, writes: int, how: str = "killed"
    ) -> asyncio.subprocess.Process:
        """Start a command that is killed, or frozen, after a number of writes."""
        places = ("--triton", self.triton.addresses.triton_grpc, "--repository", str(self.repository))
        control = ("--brokers", self.kafka.brokers, "--control-topic", topic)
        named = [str(self.new) if each == "NEW" else each for each in words]
        command = [sys.executable, "-c", KILLED, str(self.repository), str(writes), how, "model", *named]
        more = (*places, "--yes", *(() if words[0] == "add" else control))
        return await asyncio.create_subprocess_exec(*command, *more, stderr=asyncio.subprocess.PIPE)

    async def check(self) -> None:
        """Restart Triton, unless it was restarted with these files, and check which versions it serves."""
        files = sorted(
            file for file in self.model.rglob("*") if file.is_file() and "/.staging-" not in str(file)
        )
        state = b"".join(f"{file.relative_to(self.model)}\n".encode() + file.read_bytes() for file in files)
        digest = hashlib.sha256(state).hexdigest()
        if digest in self.seen:
            return
        self.seen.add(digest)
        service = self.triton.services["triton"]
        await asyncio.to_thread(service.kill)
        await asyncio.to_thread(service.start)
        by_policy = served(self.repository, "model")
        async with ModelServer(self.triton.addresses.triton_grpc) as server:
            assert await server.ready("model") == by_policy
        assert "3" not in by_policy
        labeler = TritonLabeler(self.triton.addresses.triton_grpc, "model")
        (labels,) = await labeler.label([PROBE])
        await labeler.close()
        assert isinstance(labels, Prediction)
        assert labels.model is not None
        assert labels.model.version == trusted(self.repository, "model")


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """Return the exit status of a command, and what it says."""
    _, told = await process.communicate()
    assert b"Traceback" not in told, told.decode()
    assert process.returncode is not None
    return process.returncode, told.decode()


@pytest.fixture(scope="module")
def stage(triton: LocalStack, stack: LocalStack, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(triton, KafkaSettings(stack.addresses.kafka), tmp_path_factory.mktemp("stage"))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_triton_starts_again_after_each_write_of_a_command_that_is_killed(
    stage: Stage, case: Case
) -> None:
    statuses = []
    for writes in range(case.writes + 1):
        topic = await stage.prepare(case)
        statuses.append(await stage.run(case.words, topic, writes))
        await stage.check()
    assert statuses == [-signal.SIGKILL] * case.writes + [case.status]


@pytest.mark.parametrize(
    ("how", "words", "writes", "said"),
    [
        ("killed", ("canary", "model/2", "--share", "0.5"), 0, ""),
        ("frozen", ("canary", "model/2", "--share", "0.5"), 0, "it changes nothing more"),
        ("frozen", ("promote", "model/2"), 1, "revision 2 is written, and version 2 is not the trusted one"),
    ],
)
async def test_the_claim_of_a_command_that_was_killed_or_frozen_ends_and_it_writes_nothing_more(
    stage: Stage, how: str, words: tuple[str, ...], writes: int, said: str
) -> None:
    topic = await stage.prepare(Case(words, writes, with_four_held, [ONE]))
    stopped = await stage.start(words, topic, writes, how)
    with suppress(psutil.NoSuchProcess):  # it was killed
        while psutil.Process(stopped.pid).status() != psutil.STATUS_STOPPED:  # noqa: ASYNC110 a process
            await asyncio.sleep(0.05)
    next_words, control = ("canary", "model/4", "--share", "0.5"), ControlTopic(stage.kafka, topic)
    assert await stage.run(next_words, topic, NEVER) == 1
    async with asyncio.timeout(PATIENCE):
        while (await read_control(control)).claim_on("model", datetime.now(UTC)):  # noqa: ASYNC110 a topic
            await asyncio.sleep(0.5)
    assert await stage.run(next_words, topic, NEVER) == 0
    written = (stage.model / CONFIG_FILE).read_text()
    async with ModelServer(stage.triton.addresses.triton_grpc) as server:
        ready = await server.ready("model")
        if how == "frozen":
            stopped.send_signal(signal.SIGCONT)
        status, told = await ended(stopped)
        assert (status, said in told) == (1 if how == "frozen" else -signal.SIGKILL, True), told
        assert await server.ready("model") == ready
        trusted_one = await server.trusted("model", ready)
    assert (stage.model / CONFIG_FILE).read_text() == written
    state = (await read_control(control)).states[Scope("model", "dehusk")]
    assert (state.canary, state.serving) == (Part("4", 0.5), "2" if words[0] == "promote" else "1")
    assert trusted_one == trusted(stage.repository, "model") == state.serving
    assert "4" in served(stage.repository, "model")
    await stage.check()


def with_four_held(model: Path) -> None:
    """Have another good version, which waits."""
    graphs.write_version(model / "4", graphs.always(0.5))


def with_four(model: Path) -> None:
    """Have the policy be that of before a worker took version 2 back, with another good version beside it."""
    graphs.write_version(model / "4", graphs.always(0.5))
    name(model, "1", "2", trusted_one="2")


BACK = without_version(TWO, "2", "worker", "slow")
assert BACK is not None
FOUR = with_canary(BACK, Part("4", 0.5), "me")


@pytest.mark.parametrize(
    ("words", "states", "after"),
    [
        (("canary", "model/4", "--share", "0.5"), [], (["1", "4"], "1")),
        (("promote", "model/4"), [], (["1", "4"], "4")),
        (("rollback", "model"), [FOUR], (["1"], "1")),
        (("repair", "model"), [], (["1"], "1")),
        (("canary", "model/2", "--share", "0.5"), [], (["1", "2"], "1")),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) and isinstance(each[0], str) else "",
)
async def test_what_workers_have_taken_back_leaves_the_policy_with_the_next_command(
    stage: Stage, words: tuple[str, ...], states: list[Rollout], after: tuple[list[str], str]
) -> None:
    topic = await stage.prepare(Case(words, 0, with_four, [ONE, TWO, BACK, *states]))
    assert (served(stage.repository, "model"), trusted(stage.repository, "model")) == (["1", "2"], "2")
    assert await stage.run(words, topic, NEVER) == 0
    assert (served(stage.repository, "model"), trusted(stage.repository, "model")) == after
    async with ModelServer(stage.triton.addresses.triton_grpc) as server:
        ready = await server.ready("model")
        assert set(after[0]) <= set(ready)
        assert await server.trusted("model", ready) == after[1]
    await stage.check()


async def test_a_policy_that_names_a_broken_version_is_repaired_without_a_triton(stage: Stage) -> None:
    await stage.prepare(CASES["canary"])
    name(stage.model, "1", "3")
    await asyncio.to_thread(stage.triton.services["triton"].kill)
    with pytest.raises(UnavailableError, match="triton ended at its start"):
        await asyncio.to_thread(stage.triton.services["triton"].start)
    words = (DEHUSK, "model", "repair", "model", "--without-triton", "--yes", "--json")
    process = await asyncio.create_subprocess_exec(
        *words, "--repository", str(stage.repository), stdout=asyncio.subprocess.PIPE
    )
    told, _ = await process.communicate()
    found = orjson.loads(told)
    assert (process.returncode, found["kept"], found["trusted"], [*found["taken_out"]]) == (
        0,
        ["1"],
        "1",
        ["3"],
    )
    assert "Nonsense" in found["taken_out"]["3"]
    await stage.check()
