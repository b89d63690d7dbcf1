"""Workers under a steady load whose versions are swapped by the real commands, while things go wrong.

What happens when is drawn from a seed: swaps back and forth, versions that are not fit, a restart of
Triton, a worker that is killed, and commands that come at once. All that is needed to judge it is read from
the topics.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import orjson

from benchmarks.stage import Document, Outcome, Size, Stage, Step
from benchmarks.stream import create_new
from benchmarks.versions import CORRUPT, FAILING, MODEL, OTHER, SERVED, SLOW, USUAL
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import Scope
from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.kafka.producer import create_producer
from dehusk.streams.kafka.reader import Reader, open_topics, read
from dehusk.streams.local.process import Service
from dehusk.streams.local.stack import Addresses
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.serving import serve
from dehusk.streams.rollout.control import Control

_ALIKE = 20
"""Number of documents in a row of one version after which a swap counts as done."""
_MIN_CALLS = 50
"""Pairs of calls before their times count: less than by default, as a test is short."""
_HEADERS = [("content-type", b"text/html; charset=utf-8")]
_SENTENCE = (
    "Paragraph {block} of page {page} is long enough that a model takes it for the content of its page, and "
    "it says nothing in particular about anything that somebody would want to know."
)


async def run(addresses: Addresses, triton: Service, repository: Path, folder: Path, size: Size) -> Outcome:
    """Run all steps, on a Kafka and Redis that run and a Triton that serves the repository.

    Raises:
        UnavailableError: something did not come about in two minutes; the message says what.
    """
    stage = Stage(addresses, triton, repository, folder, size)
    await create_topics(stage.kafka, [Topic(stage.control, 1, 1, {"cleanup.policy": "compact"})])
    await create_new(stage.kafka, stage.topics)
    try:
        async with _watching(stage):
            await asyncio.gather(*(asyncio.to_thread(worker.start) for worker in stage.workers))
            await stage.must("promote", USUAL, "--wait")
            async with _producing(stage):
                await _take_steps(stage)
            await stage.until(lambda: not stage.waiting, "the documents of the last pages")
    finally:
        await asyncio.gather(*(asyncio.to_thread(worker.stop) for worker in stage.workers))
    return await _outcome(stage)


async def _outcome(stage: Stage) -> Outcome:
    outcome = Outcome(stage.serving, states=stage.states, steps=stage.steps)
    async for message, at in read(stage.kafka, stage.topics.input):
        outcome.produced[message.key or b""] = at
    async for message, at in read(stage.kafka, stage.topics.output):
        outcome.documents.append(_document(message.key or b"", message.value or b"", at, message.partition))
    outcome.dead_letters = len([each async for each in read(stage.kafka, stage.topics.dead_letters)])
    return outcome


def _document(key: bytes, value: bytes, at: int, partition: int) -> Document:
    found = orjson.loads(value)
    least = min(block["probability"] for block in found["blocks"])
    return Document(key, at, found["model"]["version"], least, bool(found["degraded"]), partition)


@asynccontextmanager
async def _watching(stage: Stage) -> AsyncIterator[None]:
    """Note the documents and states as they come."""
    scope, control = Scope(MODEL, stage.topics.group), Control()

    async def watch_documents(reader: Reader) -> None:
        async for message, at in reader.follow():
            key, value = message.key or b"", message.value or b""
            stage.documents.append(_document(key, value, at, message.partition))

    async def watch_states(reader: Reader) -> None:
        async for message, at in reader.follow():
            if control.apply(message, at) == scope:
                stage.states.append((control.states[scope], at))

    async with (
        open_topics(stage.kafka, stage.topics.output) as documents,
        open_topics(stage.kafka, stage.control) as states,
        _going_on(watch_documents(documents), watch_states(states)),
    ):
        yield


@asynccontextmanager
async def _going_on(*tasks: Awaitable[None]) -> AsyncIterator[None]:
    """Run tasks that are ended at the end; raise what one of them raises."""
    running = [asyncio.ensure_future(each) for each in tasks]
    try:
        yield
    finally:
        failed = [each.exception() for each in running if each.done()]
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    for error in failed:
        raise error or AssertionError("a task ended early")


@asynccontextmanager
async def _producing(stage: Stage) -> AsyncIterator[None]:
    """Produce pages at a steady rate, each of its own site, so that nothing of a site changes its labels."""
    is_over = asyncio.Event()

    async def produce() -> None:
        async with create_producer(stage.kafka) as producer:
            begun = time.monotonic()
            while not is_over.is_set():
                number = len(stage.sent)
                url = f"https://site-{number}.example/{number}".encode()
                page = _page(number, stage.size.blocks)
                await producer.send(stage.topics.input, page, url, headers=_HEADERS)
                stage.sent.append(url)
                await asyncio.sleep(begun + number / stage.size.rate - time.monotonic())
            await producer.flush()

    producing = asyncio.create_task(produce())
    try:
        yield
    finally:
        is_over.set()
        await producing


def _page(number: int, blocks: int) -> bytes:
    paragraphs = "".join(f"<p>{_SENTENCE.format(block=block, page=number)}" for block in range(blocks))
    navigation = "<nav><a href=/>Home</a> <a href=/x>More</a></nav>"
    content = f"<main><h1>Page {number}</h1>{paragraphs}</main>"
    body = f"<body>{navigation}{content}<footer>All rights reserved</footer></body>"
    return f"<html><head><title>Page {number}</title></head>{body}</html>".encode()


async def _take_steps(stage: Stage) -> None:
    async with _noted(stage, "steady"):
        await asyncio.sleep(stage.size.steady_seconds)
    for take in _drawn(stage):
        await take(stage)
        await asyncio.sleep(stage.random.uniform(0.2, stage.size.pause_seconds))


def _drawn(stage: Stage) -> list[Callable[[Stage], Awaitable[None]]]:
    """Draw the order of all steps: first a swap, at last one after commands that come at once."""
    steps: list[Callable[[Stage], Awaitable[None]]] = [_swap] * (stage.size.swaps - 4)
    steps += [_refuse_corrupt, _fail, _slow_down, _restart_triton, _kill_worker]
    stage.random.shuffle(steps)
    return [_swap, *steps, _flurry]


@asynccontextmanager
async def _noted(stage: Stage, kind: str, after: str = "") -> AsyncIterator[Step]:
    """Note a step with its times, after which documents are of the version that is to serve."""
    step = Step(kind, stage.serving, after or stage.serving, began=_now())
    stage.steps.append(step)
    yield step
    stage.serving = step.after
    await _settled(stage, step.after)
    step.ended = _now()


async def _settled(stage: Stage, version: str) -> None:
    """Wait until the latest documents are of a version, and no pages wait."""
    before = len(stage.documents)

    def is_settled() -> bool:
        latest = stage.documents[max(before, len(stage.documents) - _ALIKE) :]
        has_turned = len(latest) == _ALIKE and {each.version for each in latest} == {version}
        return has_turned and stage.waiting < stage.size.rate

    await stage.until(is_settled, f"documents of version {version} alone")


async def _swap(stage: Stage) -> None:
    """Have the other version serve: by a rollback, or promoted, perhaps after it was tried."""
    after = _other(stage)
    state = stage.state
    can_go_back = state.previous == after and not state.canary and state.change.taken_back is None
    if can_go_back and stage.random.random() < 0.4:
        async with _noted(stage, "swap", after):
            await stage.must("rollback")
        return
    await _try_first(stage, after)
    async with _noted(stage, "swap", after):
        await stage.must("promote", after)


async def _try_first(stage: Stage, version: str) -> None:
    """Have it label some sites first, or be compared unless it is anyway, or neither."""
    is_compared = stage.state.trusted(datetime.now(UTC)) == version
    way = stage.random.choice(["", "canary"] if is_compared else ["", "canary", "shadow"])
    if way:
        await stage.must(way, version, "--share", f"{stage.random.uniform(0.1, 0.9):.2f}")
        await asyncio.sleep(stage.random.uniform(0, stage.size.pause_seconds))


async def _refuse_corrupt(stage: Stage) -> None:
    """Have Triton serve a version that it cannot load, then promote that."""
    async with _noted(stage, "corrupt"):
        async with ModelServer(stage.addresses.triton_grpc) as server:
            try:
                await serve(server, stage.repository, MODEL, [*SERVED, CORRUPT])
            except ConfigurationError:
                pass
            else:
                raise AssertionError("Triton has loaded a version whose file ends early")
        await _try_bad(stage, "promote", CORRUPT)


async def _fail(stage: Stage) -> None:
    """Bring in a version that answers NaN, as a canary or promoted."""
    name, *options = stage.random.choice([("promote",), ("canary", "--share", "0.5")])
    async with _noted(stage, "NaN"):
        await _try_bad(stage, name, FAILING, *options)


async def _slow_down(stage: Stage) -> None:
    """Bring in a version that takes long, as a canary."""
    options = ("--share", "0.5", "--limit", f"least-calls={_MIN_CALLS}")
    async with _noted(stage, "slow"):
        await _try_bad(stage, "canary", SLOW, *options)


async def _try_bad(stage: Stage, name: str, version: str, *options: str) -> None:
    """Run a command for a version that is not fit, until it is taken back."""
    await stage.must(name, version, *options)
    await stage.until(
        lambda: any(f"version {version} taken back" in state.change.reason for state, _ in stage.states),
        f"version {version} taken back",
    )


async def _restart_triton(stage: Stage) -> None:
    """Swap while Triton restarts."""
    after = _other(stage)
    async with _noted(stage, "Triton restarted", after):
        restarting = asyncio.create_task(asyncio.to_thread(stage.triton.restart))
        await asyncio.sleep(stage.random.uniform(0, 1))
        await stage.must("promote", after)
        await restarting


async def _kill_worker(stage: Stage) -> None:
    """Swap while a worker is killed, and started again."""
    after, worker = _other(stage), stage.random.choice(stage.workers)
    async with _noted(stage, "worker killed", after):
        swapping = asyncio.create_task(stage.must("promote", after))
        await asyncio.sleep(stage.random.uniform(0.5, 2))
        await asyncio.to_thread(worker.kill)
        await swapping
        await asyncio.to_thread(worker.start)


async def _flurry(stage: Stage) -> None:
    """Run commands two at a time, which may refuse each other, then one that has to succeed."""
    after = stage.random.choice([USUAL, OTHER])
    async with _noted(stage, "flurry", after):
        for _ in range(stage.size.at_once):
            await asyncio.gather(*(_at_random(stage) for _ in range(2)))
        await asyncio.sleep(0.5)
        while stage.state.serving != after or stage.state.canary or stage.state.shadow:
            revision = stage.state.revision
            await stage.must(*_back_to(stage, after))
            await stage.until(lambda: stage.state.revision > revision, "the state of a command")  # noqa: B023


def _back_to(stage: Stage, version: str) -> tuple[str, ...]:
    is_shadow_alone = stage.state.serving == version and not stage.state.canary
    return ("rollback",) if is_shadow_alone else ("promote", version)


async def _at_random(stage: Stage) -> None:
    name = stage.random.choice(["promote", "canary", "shadow", "rollback"])
    version = "" if name == "rollback" else ({USUAL, OTHER} - {stage.state.serving}).pop()
    share = ("--share", f"{stage.random.uniform(0.1, 0.9):.2f}") if name in ("canary", "shadow") else ()
    await stage.command(name, version, *share)


def _other(stage: Stage) -> str:
    return OTHER if stage.serving == USUAL else USUAL


def _now() -> int:
    return int(1000 * time.time())
