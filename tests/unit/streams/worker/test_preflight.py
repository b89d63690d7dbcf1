"""Checks of a worker at its start, and what it says when something is missing."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dehusk.inference.labelers.rules import BOILERPIPE, RulesLabeler
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import EncodedPage, Prediction
from dehusk.streams.kafka import client
from dehusk.streams.kafka.client import Topic
from dehusk.streams.kafka.rights import Right
from dehusk.streams.settings import KafkaSettings, TopicSettings, WhenTritonIsUnavailable
from dehusk.streams.worker import preflight
from dehusk.streams.worker.preflight import check_labeler, check_topics
from dehusk.streams.worker_settings import WorkerSettings

SETTINGS = WorkerSettings()
INPUT, OUTPUT, DEAD = (Topic(name, 12, 3) for name in ("raw-pages", "cleaned-documents", "dead-letters"))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> dict[str, Topic]:
    """The topics of a cluster."""
    topics: dict[str, Topic] = {}

    async def list_topics(kafka: KafkaSettings) -> list[str]:
        return list(topics)

    async def find_topics(kafka: KafkaSettings, names: Sequence[str]) -> dict[str, Topic]:
        return {name: topics[name] for name in names if name in topics}

    async def check_rights(kafka: KafkaSettings, rights: Sequence[Right]) -> None:
        """Find that every right is given."""

    for double in (list_topics, find_topics):
        monkeypatch.setattr(client, double.__name__, double)
    for module in (client, preflight):
        monkeypatch.setattr(module, "check_rights", check_rights)
    return topics


async def test_a_worker_learns_how_many_partitions_it_may_read(cluster: dict[str, Topic]) -> None:
    cluster.update({topic.name: topic for topic in (INPUT, OUTPUT, DEAD)})
    assert (await check_topics(SETTINGS)).partitions == 12
    cluster.update({"crawl-a": Topic("crawl-a", 3, 1), "crawl-b": Topic("crawl-b", 4, 1)})
    for text in ("crawl-a,crawl-b", "^crawl-"):
        assert (await check_topics(WorkerSettings(topics=TopicSettings(text)))).partitions == 7


async def test_a_worker_that_would_read_its_own_output_does_not_start(cluster: dict[str, Topic]) -> None:
    cluster.update({topic.name: topic for topic in (INPUT, OUTPUT, DEAD)})
    with pytest.raises(ConfigurationError, match=r"the input \^\.\* holds cleaned-documents"):
        await check_topics(WorkerSettings(topics=TopicSettings("^.*")))


async def test_a_dead_letter_topic_that_is_too_small_for_any_letter_is_said(
    cluster: dict[str, Topic],
) -> None:
    cluster.update({topic.name: topic for topic in (INPUT, OUTPUT)})
    cluster[DEAD.name] = replace(DEAD, max_message_bytes=1000)
    with pytest.raises(ConfigurationError, match=r"max\.message\.bytes"):
        await check_topics(SETTINGS)


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
async def test_a_compacted_dead_letter_topic_is_said(cluster: dict[str, Topic], policy: str) -> None:
    cluster.update({topic.name: topic for topic in (INPUT, OUTPUT)})
    cluster[DEAD.name] = replace(DEAD, cleanup_policy=policy)
    with pytest.raises(ConfigurationError, match=f"has cleanup.policy {policy}, .* set it to delete$"):
        await check_topics(SETTINGS)


async def test_a_missing_input_topic_is_said_with_the_command_that_creates_it(
    cluster: dict[str, Topic],
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await check_topics(SETTINGS)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(
        "topic raw-pages does not exist on localhost:9092; the Kafka of `dehusk up`, which comes without "
        "Kafka's tools, has raw-pages, cleaned-documents, dead-letters, dehusk-audit, dehusk-revisits, "
        "dehusk-monitoring and dehusk-control: "
        "use these there; others are created by `dehusk probe TOPIC --create`, or with Kafka's own tools: "
        "kafka-topics.sh --bootstrap-server localhost:9092 --create"
    )


async def test_other_missing_topics_are_to_be_like_the_input(cluster: dict[str, Topic]) -> None:
    cluster[INPUT.name] = INPUT
    with pytest.raises(ConfigurationError) as caught:
        await check_topics(SETTINGS)
    message = str(caught.value)
    for name in ("cleaned-documents", "dead-letters"):
        assert f"--create --topic {name} --partitions 12 --replication-factor 3" in message
    assert "--topic raw-pages" not in message


class Failing(RulesLabeler):
    """A labeler that fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        raise self.error


async def test_a_labeler_that_answers_says_with_which_model() -> None:
    labels = await check_labeler(SETTINGS, RulesLabeler())
    assert labels is not None
    assert labels.model == BOILERPIPE


async def test_a_labeler_that_rejects_a_line_of_text_is_refused() -> None:
    class Rejecting(RulesLabeler):
        async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
            return [Broken(BrokenReason.REJECTED_BY_MODEL, "not a number") for _ in pages]

    with pytest.raises(ConfigurationError, match="not a number"):
        await check_labeler(SETTINGS, Rejecting())


async def test_an_absent_triton_is_said_with_what_helps() -> None:
    with pytest.raises(UnavailableError, match="--labeler onnx"):
        await check_labeler(SETTINGS, Failing(UnavailableError("Triton at x:1: refused")))


async def test_with_rules_a_worker_starts_without_triton() -> None:
    settings = WorkerSettings(when_triton_is_unavailable=WhenTritonIsUnavailable.RULES)
    assert await check_labeler(settings, Failing(UnavailableError("refused"))) is None


async def test_a_model_that_does_not_fit_is_refused_even_with_rules() -> None:
    settings = WorkerSettings(when_triton_is_unavailable=WhenTritonIsUnavailable.RULES)
    with pytest.raises(ConfigurationError, match="signature"):
        await check_labeler(settings, Failing(ConfigurationError("another signature")))
