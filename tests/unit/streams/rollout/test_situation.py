"""Situation of a roll-out, as commands find it."""

import time
from dataclasses import replace

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import Part, Rollout, Scope
from dehusk.schemas.trials import Figures, WorkerReport
from dehusk.streams.kafka.client import Topic
from dehusk.streams.rollout import situation as module
from dehusk.streams.rollout.control import Control, ControlKey, state_record
from dehusk.streams.rollout.situation import Situation, read_situation
from dehusk.streams.rollout.transitions import first_state, promote, with_canary
from dehusk.streams.settings import ControlTopic, KafkaSettings

SCOPE = Scope("m", "group")
START = promote(first_state("7", "me"), "7", "me")
KAFKA = KafkaSettings("kafka:9092")
TOPIC = ControlTopic(KAFKA, "control")


@pytest.fixture
def control(monkeypatch: pytest.MonkeyPatch) -> Control:
    """Return what the topic `control`, which alone exists, says."""
    made = Control()

    async def describe(_kafka, names) -> dict[str, Topic]:
        return {name: Topic(name, 1, 1) for name in names if name == "control"}

    async def read(_topic) -> Control:
        return made

    monkeypatch.setattr(module, "describe_topics", describe)
    monkeypatch.setattr(module, "read_control", read)
    return made


async def test_the_state_and_the_workers_that_are_there_are_found(control: Control) -> None:
    record, now = state_record(SCOPE, START), int(1000 * time.time())
    control.apply(Message(record.key, record.value), now)
    for worker, at in (("b", now), ("a", now), ("gone", now - 60_000)):
        report = WorkerReport(worker, 1, "7").encode()
        control.apply(Message(ControlKey(SCOPE, worker).encode(), report), at)
    found = await read_situation(TOPIC, SCOPE)
    assert (found.state, [report.worker for report in found.workers]) == (START, ["a", "b"])
    other = await read_situation(TOPIC, Scope("m", "other"))
    assert (other.state, other.workers, other.others) == (None, [], [SCOPE])
    assert found.others == []


async def test_what_a_worker_saw_that_does_not_follow_yet_is_of_another_trial(control: Control) -> None:
    trying, now = with_canary(START, Part("8", 0.1), "me"), int(1000 * time.time())
    seen = {"8": Figures(pages=5)}
    record = state_record(SCOPE, with_canary(trying, Part("9", 0.1), "me"))
    for worker, revision, canary in (("late", trying.revision, "8"), ("a", trying.revision + 1, "9")):
        report = WorkerReport(worker, revision, "7", canary, figures=seen)
        control.apply(Message(ControlKey(SCOPE, worker).encode(), report.encode()), now)
    without = await read_situation(TOPIC, SCOPE)
    control.apply(Message(record.key, record.value), now)
    found = await read_situation(TOPIC, SCOPE)
    assert [report.worker for report in found.workers] == ["a", "late"]
    assert ([each.worker for each in found.seen], without.seen) == (["a"], without.workers)


@pytest.mark.parametrize(
    ("topic", "fault"),
    [
        (Topic("t", 8, 1, cleanup_policy="compact"), "it has 8 partitions, and one is needed$"),
        (Topic("t", 1, 1, cleanup_policy="delete"), "its cleanup.policy is delete, and has to be compact$"),
        (
            Topic("t", 1, 1, cleanup_policy="compact,delete"),
            "policy is compact,delete, and has to be compact$",
        ),
        (Topic("t", 2, 1, cleanup_policy="delete"), "2 partitions, .*; its cleanup.policy is delete"),
    ],
)
async def test_a_topic_of_another_kind_is_no_control_topic(
    monkeypatch: pytest.MonkeyPatch, topic: Topic, fault: str
) -> None:
    async def describe(_kafka, _names) -> dict[str, Topic]:
        return {"t": topic}

    monkeypatch.setattr(module, "describe_topics", describe)
    with pytest.raises(ConfigurationError, match=f"^topic t is no control topic: .*{fault}"):
        await read_situation(ControlTopic(KAFKA, "t"), SCOPE)


@pytest.mark.usefixtures("control")
async def test_a_topic_that_is_missing_is_told_with_the_command_that_creates_it() -> None:
    created = "--create --topic missing --partitions 1 --replication-factor 1 --config cleanup.policy=compact"
    with pytest.raises(ConfigurationError, match=created):
        await read_situation(ControlTopic(KAFKA, "missing"), SCOPE)


def situation(*serving: str) -> Situation:
    return Situation(SCOPE, None, [WorkerReport(f"worker-{each}", 0, each) for each in serving])


@pytest.mark.parametrize(
    ("state", "labeling", "trusted", "after"),
    [
        (None, ["7"], "7", "8"),
        (None, ["7"], "6", "6"),
        (None, [], "7", "8"),
        (None, ["6", "7"], "7", "8"),
        (START, ["6"], "7", "8"),
        (START, [], "6", "6"),
    ],
)
def test_the_trusted_version_moves_with_the_group_that_labels_with_it(
    state: Rollout | None, labeling: list[str], trusted: str, after: str
) -> None:
    found = replace(situation(*labeling), state=state)
    assert found.trusted_after(promote(START, "8", "me"), trusted) == after
    assert found.trusted_after(with_canary(START, Part("8", 0.1), "me"), "7") == "7"


def test_one_of_several_versions_that_workers_label_with_can_be_promoted() -> None:
    assert situation("6", "7").current("me", serving="6").serving == "6"
    with pytest.raises(ConfigurationError, match="6 and 7"):
        situation("6", "7").current("me", serving="8")
