"""Versions on trial beside the trusted one, also on a busy machine, on the real Kafka and Triton."""

import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count

import pytest

from benchmarks.versions import MODEL, OTHER, SERVED, SLOW, USUAL, write_repository
from dehusk.inference.labelers.repository import CONFIG_FILE
from dehusk.inference.labelers.version_policy import with_versions
from dehusk.schemas.trials import CANARY, SHADOW, Comparison, EndedTrial, total_comparison
from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.rollout.control import Control
from dehusk.streams.sources.source import Record
from tests.integration.conftest import Stack
from tests.integration.worker.conftest import PATIENCE, in_letters
from tests.integration.worker.test_rollout import HOSTS, Rollout

COPY = "12"
"""Version that is an identical copy of the usual one."""
CALLS = 60
"""Pairs of calls that are enough for a verdict on times: less than by default, so less is needed to err."""
RATE = 10.0
"""Pages a second."""


@pytest.fixture(scope="module")
def triton(tmp_path_factory) -> Iterator[str]:
    """Address of a Triton that serves good and bad versions, and a copy of the usual one."""
    repository = tmp_path_factory.mktemp("models")
    write_repository(repository)
    model = repository / MODEL
    shutil.copytree(model / USUAL, model / COPY)
    configuration = (model / CONFIG_FILE).read_text()
    (model / CONFIG_FILE).write_text(with_versions(configuration, (*SERVED, COPY)))
    with Stack(tmp_path_factory.mktemp("own"), repository=repository, services=("triton",)) as stack:
        yield stack.addresses.triton_grpc


@pytest.fixture
def busy() -> Iterator[None]:
    """A process that computes without end, beside a worker and Triton, which keep two processors busy."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield
    process.kill()
    process.wait()


class Trial(Rollout):
    """A roll-out, and pages that are produced while it goes on."""

    async def begin(self, *command: str, workers: int = 1) -> None:
        """Have workers label by the usual version, then try another one."""
        running = [self.worker("--triton-seconds", "60") for _ in range(workers)]
        for each in running:
            await self.bench.until(each.has_partitions)
        await self.move("promote", f"dehusk/{USUAL}", "--limit", "probation-seconds=0")
        await self.move(*command)

    async def until_taken_back(self) -> EndedTrial:
        """Produce pages until a version is taken back; return what was seen of its trial."""
        async with self.producing():
            control = await self.until(lambda control: control.ended(self.scope))
        return control.ended(self.scope)[0]

    async def until_compared(self, calls: int) -> Comparison:
        """Produce pages until so many calls of a shadow are timed; return its comparison."""
        async with self.producing():
            control = await self.until(lambda control: self._is_over(control, calls))
        return total_comparison(control.evidence(self.scope), SHADOW)

    def _is_over(self, control: Control, calls: int) -> bool:
        """Return True if so many calls of a shadow are timed, or there is none any more."""
        compared = total_comparison(control.evidence(self.scope), SHADOW)
        return compared.calls >= calls or control.states[self.scope].shadow is None

    @asynccontextmanager
    async def producing(self) -> AsyncIterator[None]:
        """Produce pages at a steady rate; at the end, wait until all are cleaned."""
        pages = (self.page_at(f"https://{HOSTS[number % len(HOSTS)]}/{number}", number) for number in count())
        async with self.bench.crawling(pages, at_once=1, pause=1 / RATE) as produced:
            yield
        self.produced += [record.key for record in produced]
        await self.bench.until_done(2 * PATIENCE)


@pytest.fixture
async def trial(bench, triton: str) -> Trial:
    made = Trial(bench, triton, page_with_much_around)
    await create_topics(bench.kafka, [Topic(made.topic, 1, 1, {"cleanup.policy": "compact"})])
    return made


def page_with_much_around(url: str, number: int) -> Record:
    """Return a page of which a third is no content."""
    name = in_letters(number)
    links = "".join(f"<li><a href=/{n}>See more of part {n} of {name}</a>" for n in range(8))
    text = f"This paragraph of page {name} is long enough that a model takes it for the content of its page."
    content = f"<h1>Page {name}</h1>" + f"<p>{text}</p>" * 5
    body = f"<nav><ul>{links}</ul></nav><main>{content}</main><footer>All rights reserved</footer>"
    html = f"<html><head><title>Page {name}</title></head><body>{body}</body></html>"
    return Record(url.encode(), html.encode(), (("content-type", b"text/html; charset=utf-8"),))


@pytest.mark.usefixtures("busy")
async def test_a_shadow_of_an_identical_copy_stays_on_a_busy_machine(trial: Trial) -> None:
    await trial.begin("shadow", f"dehusk/{COPY}", "--share", "1", "--limit", f"least-calls={CALLS}")
    seen = await trial.until_compared(CALLS + CALLS // 5)
    state = (await trial.control()).states[trial.scope]
    assert state.shadow is not None, state.change
    assert (state.shadow.version, state.serving) == (COPY, USUAL), state.change
    assert (seen.differing, seen.f1, seen.added_words, seen.removed_words) == (0, 1.0, 0, 0)
    await trial.check_nothing_is_lost()


async def test_a_slow_shadow_is_taken_back_and_called_slow(trial: Trial) -> None:
    await trial.begin("shadow", f"dehusk/{SLOW}", "--share", "1", "--limit", "least-calls=10")
    ended = await trial.until_taken_back()
    assert ended.change.reason.startswith(f"version {SLOW} taken back, latency: ")
    assert (ended.trial, ended.version, ended.trusted) == (SHADOW, SLOW, USUAL)
    assert (ended.comparison.differing, ended.figures.errors) == (0, 0)
    assert ended.comparison.calls >= 10
    await trial.check_nothing_is_lost()


async def test_a_canary_that_keeps_everything_is_taken_back_by_what_the_group_has_seen(trial: Trial) -> None:
    command = ("canary", f"dehusk/{OTHER}", "--share", "0.3", "--limit", "least-pages=40")
    await trial.begin(*command, workers=2)
    ended = await trial.until_taken_back()
    assert ended.change.reason.startswith(f"version {OTHER} taken back, kept-text: ")
    assert (ended.trial, ended.trusted) == (CANARY, USUAL)
    assert ended.comparison.pages >= 40
    assert ended.comparison.added_words > 0 == ended.comparison.removed_words
    await trial.check_nothing_is_lost()
