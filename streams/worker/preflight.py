"""What must hold before a worker starts; each error says in one line what to do about it."""

from dehusk.inference.labeler import Labeler
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Prediction
from dehusk.streams.dead_letters import MOST_BARE_BYTES
from dehusk.streams.kafka import Topic, describe_worker_topics, how_to_create, missing_topics
from dehusk.streams.settings import WhenTritonIsUnavailable
from dehusk.streams.sources.warc_pointer import NO_DIRECTORY, WarcPointer
from dehusk.streams.worker.settings import WorkerSettings
from dehusk.streams.worker.witnesses import PROBE


def check_source(settings: WorkerSettings) -> None:
    """See whether the source can read what its messages point to.

    Raises:
        ConfigurationError: it cannot.
    """
    if settings.source == WarcPointer.name and settings.source_settings.warc_directory is None:
        raise ConfigurationError(NO_DIRECTORY)


async def check_topics(settings: WorkerSettings) -> int:
    """The partitions of all input topics, once every topic exists.

    Raises:
        UnavailableError: no broker answers.
        ConfigurationError: a topic is missing; the message has the command that creates it. Or the
            dead-letter topic is too small for a letter.
    """
    found = await describe_worker_topics(settings.kafka, settings.topics)
    missing = missing_topics(settings.topics, found)
    if missing:
        names = ", ".join(topic.name for topic in missing)
        creating = how_to_create(settings.kafka, missing)
        raise ConfigurationError(f"missing on {settings.kafka.brokers}: {names}; {creating}")
    _check_size(found.written[settings.topics.dead_letters])
    return sum(topic.partitions for topic in found.inputs)


def _check_size(dead_letters: Topic) -> None:
    limit = dead_letters.max_message_bytes
    if limit is not None and limit < MOST_BARE_BYTES:
        raise ConfigurationError(
            f"topic {dead_letters.name} takes records of {limit:,} bytes, and a dead letter may have "
            f"{MOST_BARE_BYTES:,} without its message: raise its max.message.bytes"
        )


async def check_labeler(settings: WorkerSettings, labeler: Labeler) -> Prediction | None:
    """The answer for a line of text; None where it does not answer and may be done without.

    Raises:
        UnavailableError: it does not answer.
        ConfigurationError: its model is missing, reads other tensors than are written, or rejects the line.
    """
    try:
        (labels,) = await labeler.label([PROBE])
    except UnavailableError as error:
        if settings.when_triton_is_unavailable is WhenTritonIsUnavailable.RULES:
            return None
        raise UnavailableError(
            f"{error}; start Triton, give its address with --triton HOST:PORT, "
            "or label in this process with --labeler onnx"
        ) from error
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{error}; have the model's repository served, or name another one with --model"
        ) from error
    if isinstance(labels, Broken):
        raise ConfigurationError(f"the labeler rejects a line of text: {labels.detail}")
    return labels
