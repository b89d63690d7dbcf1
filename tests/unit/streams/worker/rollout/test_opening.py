"""Start of a worker that follows a roll-out."""

import asyncio
import re
from contextlib import suppress
from dataclasses import replace

import pytest

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, versions
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.rollout import Scope
from dehusk.streams.kafka.client import Topic
from dehusk.streams.rollout.transitions import first_state, promote
from dehusk.streams.settings import ControlTopic, KafkaSettings, TritonSettings
from dehusk.streams.worker.rollout import opening, plan
from dehusk.streams.worker.rollout.opening import TopicCheck, catch_up, first_plan
from dehusk.streams.worker.rollout.plan import OpenVersion, open_version
from dehusk.streams.worker.rollout.steering import StateReader
from dehusk.streams.worker_settings import WorkerSettings

START = promote(first_state("7", "me"), "7", "me")
ONNX = WorkerSettings(labeler="onnx")


async def test_a_version_that_labels_a_line_of_text_is_opened() -> None:
    newest = versions(DEFAULT_REPOSITORY, "dehusk")[-1]
    opened = await open_version(ONNX, newest)
    assert opened.answer is not None
    assert (opened.version, opened.answer.model.version) == (newest, newest)
    chosen = await open_version(ONNX, "")
    assert chosen.answer is not None


async def test_a_version_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigurationError, match="holds no version 99"):
        await open_version(ONNX, "99")


async def test_a_version_may_be_opened_before_the_labeler_answers(free_port: int) -> None:
    away = WorkerSettings(triton=TritonSettings(f"127.0.0.1:{free_port}", timeout=1.0))
    with pytest.raises(UnavailableError):
        await open_version(away, "7")
    opened = await open_version(away, "7", may_be_away=True)
    assert opened.answer is None
    await opened.labeler.close()


async def test_a_version_that_rejects_a_line_of_text_is_refused(models, monkeypatch) -> None:
    models["8"].fault = "nan"
    monkeypatch.setattr(plan, "open_labeler", lambda _: models["8"])
    with pytest.raises(ConfigurationError, match="NaN"):
        await open_version(ONNX, "8")
    assert models["8"].closed


async def test_a_version_that_runs_here_and_fails_is_refused(models, monkeypatch) -> None:
    models["8"].fault = "away"
    monkeypatch.setattr(plan, "open_labeler", lambda _: models["8"])
    with pytest.raises(ConfigurationError, match="version 8 is away"):
        await open_version(ONNX, "8", may_be_away=True)
    assert models["8"].closed


@pytest.fixture
def served(models, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions 7 and 8 are served, and 7 is chosen."""

    async def opened(_settings, version, *, may_be_away) -> OpenVersion:
        if version not in {"", "7", "8"}:
            raise ConfigurationError(f"no version {version}")
        return models[version or "7"].opened()

    monkeypatch.setattr(opening, "open_version", opened)


@pytest.mark.usefixtures("served")
async def test_a_worker_starts_with_what_serves_or_served_before() -> None:
    async def chosen(state) -> str:
        return (await first_plan(ONNX, state, may_be_away=False)).serving.version

    assert await chosen(None) == "7"
    assert await chosen(promote(START, "8", "me")) == "8"
    assert await chosen(promote(START, "99", "me")) == "7"
    for previous, unfit in ((None, "no version 99"), ("98", "no version 99; no version 98")):
        message = f"revision 1, has version 99 serve: {unfit}; put .*, or .* by `dehusk model promote`"
        with pytest.raises(ConfigurationError, match=message):
            await chosen(replace(START, serving="99", previous=previous))


async def test_a_topic_that_is_not_read_in_time_is_named_with_the_reason(monkeypatch) -> None:
    monkeypatch.setattr(opening, "CATCH_UP_SECONDS", 0.01)
    reader = StateReader(KafkaSettings(), "control", Scope("m", "g"))
    reader.following.dependency.missed(UnavailableError("nobody is there"))
    message = re.escape("topic control was not read to its end within 0 s: nobody is there")
    with pytest.raises(UnavailableError, match=message):
        await catch_up(reader, "control")
    reader.following.caught_up.set()
    await catch_up(reader, "control")


async def test_a_control_topic_is_checked_while_the_worker_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, fading = (Topic("control", 1, 1, cleanup_policy=policy) for policy in ("compact", "delete"))
    away = UnavailableError("no broker answers")
    described, told = iter([kept, away, fading, away, kept, None]), []
    checking = TopicCheck(ControlTopic(KafkaSettings(), "control"))

    async def find(_kafka, names) -> dict[str, Topic]:
        told.append(checking.dependency.trouble)
        assert names == ["control"]
        topic = next(described, ...)
        if topic is ...:
            raise asyncio.CancelledError
        if isinstance(topic, UnavailableError):
            raise topic
        return {topic.name: topic} if topic else {}

    monkeypatch.setattr(opening, "find_topics", find)
    monkeypatch.setattr(opening, "_SETTINGS_SECONDS", 0.0)
    with suppress(asyncio.CancelledError):
        await checking.run()
    fault = "topic control is no control topic: its cleanup.policy is delete, and has to be compact"
    assert told == ["", "", "", fault, fault, "", ""]
