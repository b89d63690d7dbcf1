"""Following the state of a roll-out."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from dehusk.schemas.errors import ConfigurationError, ConflictError, UnavailableError
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.schemas.rollout import Limits, Part, Rollout, Scope
from dehusk.schemas.trials import CANARY as CANARY_TRIAL
from dehusk.schemas.trials import PROMOTED, SHADOW, Comparison, Figures, WorkerReport
from dehusk.streams.rollout.control import ControlKey
from dehusk.streams.rollout.transitions import (
    first_state,
    pause,
    promote,
    roll_back,
    take_step,
    with_canary,
    with_shadow,
    with_steps,
)
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.rollout import steering as module
from dehusk.streams.worker.rollout.observing import Observations
from dehusk.streams.worker.rollout.plan import OpenVersion, Plan, Plans
from dehusk.streams.worker.rollout.steering import StateReader, Steering

SCOPE = Scope("m", "group")
START = promote(first_state("7", "me"), "7", "me")
CANARY = with_canary(START, Part("8", 0.5), "me")
ON_PROBATION = replace(promote(START, "8", "me"), limits=Limits(probation_seconds=86_400))


class Worker:
    """A worker that labels with version 7, and the topic that it follows."""

    def __init__(self, models) -> None:
        self.models = models
        self.opened: list[str] = []
        self.written: list[Rollout] = []
        self.refusal: Exception | None = None
        self.reader = StateReader(KafkaSettings(), "control", SCOPE)
        self.plans = Plans(Plan(models["7"].opened()))
        self.observations = Observations()
        self.figures, self.comparing = self.observations.figures, self.observations.comparing
        self.metrics = Metrics(CollectorRegistry(), ())
        self.steering = Steering(
            self.reader,
            self.plans,
            self.open,
            self.change,
            "w1",
            self.observations,
            self.metrics,
        )

    async def open(self, version: str) -> OpenVersion:
        self.opened.append(version)
        model = self.models.get(version)
        if model is None:
            raise ConfigurationError(f"no version {version}")
        if model.fault == "away":
            raise UnavailableError("away")
        return model.opened()

    async def change(self, scope: Scope, state: Rollout, own: WorkerReport) -> None:
        assert own == self.steering.report()
        if self.refusal is not None:
            raise self.refusal
        assert scope == SCOPE
        self.written.append(state)
        self.tell(state)

    def tell(self, state: Rollout) -> None:
        """Have the topic say it."""
        change = ControlKey(SCOPE, change=f"{state.change.at} {state.revision}")
        for key in (change, ControlKey(SCOPE)):
            self.reader.following._handle(Message(key.encode(), state.encode()), 0)

    def hear(self, *reports: WorkerReport) -> None:
        """Have the topic say what other workers report."""
        for report in reports:
            key = ControlKey(SCOPE, report.worker).encode()
            self.reader.following._handle(Message(key, report.encode()), 0)

    async def follow(self, *states: Rollout) -> tuple[str | None, ...]:
        """The versions that serve, back it, canary and shadow, once states are followed."""
        for state in states:
            self.tell(state)
            await self.steering.adopt(self.reader.state)
        plan = self.plans.current
        parts = (plan.serving, plan.before, plan.canary, plan.shadow)
        return tuple(part.version if part else None for part in parts)

    def rollbacks(self) -> dict[str, float]:
        samples = self.metrics.rollbacks.collect()[0].samples
        return {
            each.labels["reason"]: each.value
            for each in samples
            if each.value and each.name.endswith("_total")
        }


@pytest.fixture
def worker(models) -> Worker:
    return Worker(models)


async def test_versions_are_opened_once_and_closed_when_they_are_not_named(worker: Worker) -> None:
    assert await worker.follow(START) == ("7", None, None, None)
    assert await worker.follow(CANARY) == ("7", None, "8", None)
    both = with_shadow(CANARY, Part("9", 1.0), "me")
    assert await worker.follow(both) == ("7", None, "8", "9")
    assert worker.metrics.serving == {ModelVersion("m", "8"): ModelVersion("m", "7")}
    over = promote(both, "8", "me")
    assert await worker.follow(over) == ("8", "7", None, "9")
    assert worker.metrics.serving == {}
    assert worker.opened == ["8", "9"]
    back = replace(over, revision=9, serving="7", previous=None, promoted_at=None, shadow=None)
    assert await worker.follow(back) == ("7", None, None, None)
    assert [worker.models[version].closed for version in "789"] == [False, True, True]
    assert worker.metrics.registry.get_sample_value("dehusk_rollout_revision") == 9


async def test_what_the_state_has_as_it_was_is_not_followed_again(worker: Worker) -> None:
    await worker.follow(START)
    plan = worker.plans.current
    await worker.steering.adopt(START)
    assert worker.plans.current is plan


async def test_a_promoted_version_that_does_not_label_is_taken_back(worker: Worker) -> None:
    await worker.follow(START)
    assert await worker.follow(promote(START, "99", "me")) == ("7", None, None, None)
    (taken,) = worker.written
    assert (taken.serving, taken.previous, taken.revision) == ("7", None, 3)
    assert taken.change.by == "w1"
    assert taken.change.reason == "version 99 taken back, refused: no version 99"
    assert (worker.rollbacks(), worker.steering.refused) == ({"refused": 1}, {"99": "no version 99"})
    await worker.steering.adopt(worker.reader.state)
    assert worker.steering.refused == {}
    assert worker.metrics.registry.get_sample_value("dehusk_refused_versions") == 0


@pytest.mark.parametrize("step", [with_canary, with_shadow])
async def test_a_tried_version_that_does_not_label_is_taken_back(worker: Worker, step) -> None:
    await worker.follow(START)
    assert await worker.follow(step(START, Part("99", 1.0), "me")) == ("7", None, None, None)
    assert [(each.serving, each.canary, each.shadow) for each in worker.written] == [("7", None, None)]


async def test_a_refusal_that_names_a_path_without_utf8_is_reported_without_it(worker: Worker) -> None:
    async def refuse(_version: str) -> OpenVersion:
        raise ConfigurationError("/srv/mod\udce8les holds no version 99")

    worker.steering._open = refuse
    await worker.follow(START, with_canary(START, Part("99", 1.0), "me"))
    assert worker.steering.refused == {"99": "/srv/mod?les holds no version 99"}
    assert worker.steering.report().encode()


async def test_a_version_that_is_to_serve_first_and_does_not_label_has_nothing_to_go_back_to(
    worker: Worker,
) -> None:
    assert await worker.follow(replace(START, serving="99")) == ("7", None, None, None)
    assert (worker.written, worker.steering.refused) == ([], {"99": "no version 99"})


async def test_a_version_that_does_not_answer_is_tried_again(worker: Worker) -> None:
    await worker.follow(START)
    worker.models["8"].fault = "away"
    assert await worker.follow(CANARY) == ("7", None, None, None)
    assert (worker.written, worker.steering.refused, worker.steering.revision) == ([], {}, 1)
    worker.models["8"].fault = ""
    await worker.steering.adopt(CANARY)
    assert worker.plans.current.canary is not None
    assert worker.steering.revision == CANARY.revision


async def test_a_version_before_that_does_not_answer_is_tried_again(worker: Worker) -> None:
    await worker.follow(START)
    worker.models["7"].fault = "away"
    await worker.plans.replace(Plan(worker.models["8"].opened()))
    assert await worker.follow(ON_PROBATION) == ("8", None, None, None)
    worker.models["7"].fault = ""
    await worker.steering.adopt(ON_PROBATION)
    assert worker.plans.current.before is not None


async def test_without_a_state_the_labeler_chooses(worker: Worker, models) -> None:
    models[""] = type(models["7"])("")
    await worker.follow(START)
    await worker.steering.adopt(None)
    assert (worker.plans.current.serving.version, worker.steering.revision) == ("", 0)


async def test_the_version_of_rules_that_stand_in_is_not_reported_as_that_of_the_model(
    worker: Worker, models
) -> None:
    models[""] = type(models["7"])("")
    await worker.follow(START)
    await worker.steering.adopt(None)
    worker.steering._metrics.model = ModelVersion("boilerpipe", "1")
    assert worker.steering.report().serving != "1"
    worker.steering._metrics.model = ModelVersion("m", "9")
    assert worker.steering.report().serving == "9"


BAD = Figures(pages=100, rejected=100)


async def judged(worker: Worker) -> Rollout:
    await worker.steering._judge()
    (taken,) = worker.written
    return taken


async def test_a_canary_beyond_a_limit_is_taken_back_once(worker: Worker) -> None:
    await worker.follow(START, CANARY)
    worker.figures.add("8", BAD)
    taken = await judged(worker)
    await worker.steering._judge()
    assert (taken.canary, worker.rollbacks()) == (None, {"no-probabilities": 1})
    assert "no-probabilities: 100 of 100 pages" in taken.change.reason


async def test_a_shadow_beyond_a_limit_is_taken_back(worker: Worker) -> None:
    await worker.follow(START, with_shadow(START, Part("8", 1.0), "me"))
    worker.comparing[SHADOW].comparison = Comparison(shadow=BAD)
    assert (await judged(worker)).shadow is None


KEEPS_ALL = Comparison(pages=120, words=1000, kept_by_both=700, added_words=300)
"""Comparison of a version that keeps everything, on fewer pages than the limit asks for."""


@pytest.mark.parametrize(
    ("states", "trial"), [((START, CANARY), CANARY_TRIAL), ((START, ON_PROBATION), PROMOTED)]
)
async def test_a_version_is_judged_by_what_the_whole_group_has_seen(
    worker: Worker, states: tuple[Rollout, ...], trial: str
) -> None:
    await worker.follow(*states)
    worker.comparing[trial].comparison = KEEPS_ALL
    await worker.steering._judge()
    assert worker.written == []
    seen = replace(worker.steering.report(), worker="w2")
    worker.hear(replace(seen, worker="w3", revision=1), replace(seen, worker="w4", serving="6"))
    worker.hear(replace(seen, worker="w1"))
    await worker.steering._judge()
    assert worker.written == []
    worker.hear(seen)
    taken = await judged(worker)
    assert (taken.serving, taken.canary, worker.rollbacks()) == ("7", None, {"kept-text": 1})


async def test_the_view_shows_nothing_of_a_trial_that_has_ended(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 0.0)
    await worker.follow(START, CANARY)
    worker.comparing[CANARY_TRIAL].comparison = KEEPS_ALL
    late = replace(worker.steering.report(), worker="w2")
    await worker.follow(with_canary(CANARY, Part("9", 0.5), "me"))
    worker.hear(late, worker.steering.report())
    found = worker.reader.view()
    assert found is not None
    assert (found.workers, found.following, found.trials) == (2, 1, ())


async def test_failures_of_a_version_are_counted_over_the_group(worker: Worker) -> None:
    await worker.follow(START, CANARY)
    worker.figures.add("8", Figures(pages=10, rejected=3))
    worker.hear(replace(worker.steering.report(), worker="w2"))
    assert "no-probabilities: 6 of 20 pages" in (await judged(worker)).change.reason


async def test_figures_begin_anew_with_another_canary_but_not_with_a_larger_share(worker: Worker) -> None:
    await worker.follow(START, CANARY)
    worker.figures.add("8", Figures(pages=1))
    await worker.follow(with_canary(CANARY, Part("8", 0.9), "me"))
    assert worker.figures.of("8").pages == 1
    await worker.follow(replace(CANARY, revision=7, canary=Part("9", 0.9)))
    assert worker.figures.by_version == {}


async def test_figures_begin_anew_with_each_step(worker: Worker) -> None:
    stepped = with_steps(START, "8", (0.1, 0.5), 600.0, "me")
    await worker.follow(START, stepped)
    worker.figures.add("8", Figures(pages=1))
    compared = worker.observations.comparing[CANARY_TRIAL]
    compared.comparison = Comparison(pages=1)
    await worker.follow(pause(stepped, "me", ""))
    assert (worker.figures.of("8").pages, compared.comparison.pages) == (1, 1)
    await worker.follow(replace(take_step(stepped, "me"), revision=9))
    assert (worker.figures.by_version, compared.comparison) == ({}, Comparison())


async def test_a_trial_that_has_ended_is_not_compared_further(worker: Worker) -> None:
    await worker.follow(START, CANARY)
    worker.comparing[CANARY_TRIAL].comparison = KEEPS_ALL
    await worker.follow(promote(CANARY, "8", "me"))
    assert worker.comparing[CANARY_TRIAL].comparison == Comparison()


async def test_figures_begin_anew_with_a_trial_whose_end_and_begin_are_heard_together(worker: Worker) -> None:
    await worker.follow(START, CANARY)
    worker.figures.add("8", BAD)
    worker.comparing[CANARY_TRIAL].comparison = KEEPS_ALL
    ended = roll_back(CANARY, "ada", "Triton was to blame")
    worker.tell(ended)
    await worker.follow(with_canary(ended, Part("8", 0.5), "ada"))
    assert (worker.steering.report().revision, worker.figures.by_version) == (4, {})
    assert worker.comparing[CANARY_TRIAL].comparison == Comparison()


@pytest.mark.parametrize("refusal", [ConflictError("changed"), UnavailableError("away")])
async def test_a_rollback_that_cannot_be_written_is_not_counted(worker: Worker, refusal: Exception) -> None:
    await worker.follow(START, CANARY)
    worker.refusal = refusal
    worker.figures.add("8", BAD)
    await worker.steering._judge()
    assert (worker.rollbacks(), worker.plans.current.canary is not None) == ({}, True)
    worker.refusal = None
    assert (await judged(worker)).canary is None


@pytest.fixture
async def running(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Worker]:
    monkeypatch.setattr(module, "JUDGE_SECONDS", 0.01)
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.0)
    task = asyncio.create_task(worker.steering.run())
    yield worker
    task.cancel()


async def test_a_state_is_followed_when_it_comes_and_what_was_away_is_tried_again(running: Worker) -> None:
    running.models["8"].fault = "away"
    running.tell(CANARY)
    await asyncio.wait_for(running.steering.adopted.wait(), 60)
    assert running.plans.current.canary is None
    running.models["8"].fault = ""
    async with asyncio.timeout(60):
        while running.plans.current.canary is None:  # noqa: ASYNC110 nobody sets an event
            await asyncio.sleep(0.01)
