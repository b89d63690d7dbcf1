"""The spans of batches, steps and messages, and the headers by which traces go on."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased
from opentelemetry.trace import SpanKind, StatusCode
from prometheus_client import CollectorRegistry

from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason, Tombstone
from dehusk.schemas.pages import Encoding, Message
from dehusk.streams.availability import Dependency
from dehusk.streams.preparation.batch import BatchCleaner, UniformBatchLabeler
from dehusk.streams.preparation.steps import (
    LabeledPage,
    Outcomes,
    PackedPage,
    Postponed,
    Writing,
    WrittenDocument,
)
from dehusk.streams.sites.store import MemorySiteStatistics
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.results import UNTRACED, CleanedMessage, Result, Traces, delivering, end_traces
from dehusk.streams.worker.steps.batch import MessageCleaner, StoreObserver
from dehusk.streams.worker.steps.labeling import WaitingLabeling
from dehusk.streams.worker.tracing.spans import SpanTraces

TRACE, PRODUCER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = f"00-{TRACE}-{PRODUCER}-01".encode()
NOT_SAMPLED = f"00-{TRACE}-{PRODUCER}-00".encode()
STEPS = ["prepare", "label", "observe", "extract", "deliver"]
SKIPPED = Skipped(SkipReason.NO_BODY, "")


class Pool:
    """Preparation that answers what the test says."""

    def __init__(self, *answers: Outcomes) -> None:
        self.answers = list(answers)
        self.prepared_at = 0
        """Nanoseconds of the epoch."""

    async def prepare(
        self, messages: Sequence[Message], max_bytes: float = 0, encodings: frozenset[Encoding] = frozenset()
    ) -> list[Outcomes]:
        self.prepared_at = time.time_ns()
        return self.answers[: len(messages)]

    async def extract(
        self, pages: Sequence[LabeledPage], max_bytes: float = 0
    ) -> list[WrittenDocument | Broken]:
        return [Writing().extract(page) for page in pages]


class Recorder:
    """Spans that have ended, and the traces that they are of."""

    def __init__(self, root: object = ALWAYS_ON) -> None:
        self._exporter = InMemorySpanExporter()
        self._provider = TracerProvider(sampler=ParentBased(root), shutdown_on_exit=False)
        self._provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.traces = SpanTraces(self._provider.get_tracer("test"), "news")

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self._exporter.get_finished_spans()

    @property
    def batch(self) -> ReadableSpan:
        (span,) = (span for span in self.spans if span.kind is SpanKind.CONSUMER and span.parent is None)
        return span

    @property
    def of_messages(self) -> list[ReadableSpan]:
        return [span for span in self.spans if span.kind is SpanKind.CONSUMER and span.parent is not None]


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    made = Recorder()
    yield made
    made._provider.shutdown()


async def process(
    traces: Traces,
    messages: Sequence[Message],
    *outcomes: Outcomes,
    pool: Pool | None = None,
    revision: int = 1,
) -> list[Result]:
    """Clean messages and deliver what became of them."""
    batches = BatchCleaner(
        pool or Pool(*outcomes),
        UniformBatchLabeler(WaitingLabeling(RulesLabeler(), Dependency("triton", ""))),
        StoreObserver(MemorySiteStatistics(), Dependency("redis", "")),
    )
    metrics = Metrics(CollectorRegistry(), ())
    cleaner = MessageCleaner(batches, "application/json", metrics, traces, revision)
    results = await cleaner.clean(messages)
    with delivering([result for result in results if isinstance(result, CleanedMessage)]):
        pass
    end_traces(results)
    return results


def with_trace(message: Message, *values: bytes, offset: int = 41) -> Message:
    """The message with a `traceparent` and, where given, a `tracestate`."""
    headers = tuple(zip(("traceparent", "tracestate"), values, strict=False))
    return replace(message, headers=(("content-type", b"text/html"), *headers), offset=offset)


def trace_of(cleaned: Result) -> dict[str, bytes | None]:
    """The headers of Trace Context that its only record has."""
    assert isinstance(cleaned, CleanedMessage)
    (record,) = cleaned.records
    return {name: value for name, value in record.headers if name in ("traceparent", "tracestate")}


def written(span: ReadableSpan) -> bytes:
    """The `traceparent` of what a span gave, less its flags."""
    return f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-".encode()


async def test_a_batch_has_a_trace_of_its_own_with_a_span_for_each_step(
    recorder: Recorder, message: Message, page: PackedPage
) -> None:
    await process(recorder.traces, [message], (page,))
    steps = [span for span in recorder.spans if span.kind is SpanKind.INTERNAL]
    assert [span.name for span in steps] == STEPS
    assert [span.parent for span in steps] == [recorder.batch.context] * 5
    assert recorder.batch.name == "process raw"
    assert recorder.batch.attributes == {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.consumer.group.name": "news",
        "messaging.destination.name": "raw",
        "messaging.destination.partition.id": "3",
        "messaging.batch.message_count": 1,
        "dehusk.revision": 1,
        "dehusk.documents": 1,
        "dehusk.skipped": 0,
        "dehusk.dead_letters": 0,
        "dehusk.model.name": "boilerpipe",
        "dehusk.model.version": "1",
    }


async def test_a_message_continues_the_trace_of_its_producer(
    recorder: Recorder, message: Message, page: PackedPage
) -> None:
    other = replace(message, headers=(), topic="other", offset=42)
    traced = with_trace(message, SAMPLED, b"vendor=1")
    first, _ = await process(recorder.traces, [traced, other], (page,), (page,))
    (span,) = recorder.of_messages
    assert (span.name, f"{span.context.trace_id:032x}") == ("process raw", TRACE)
    assert f"{span.parent.span_id:016x}" == PRODUCER
    assert [link.context for link in span.links] == [recorder.batch.context]
    assert [link.context for link in recorder.batch.links] == [span.parent]
    assert recorder.batch.links[0].attributes["messaging.kafka.offset"] == 41
    assert trace_of(first) == {"traceparent": written(span) + b"01", "tracestate": b"vendor=1"}
    assert span.start_time == recorder.batch.start_time
    assert recorder.batch.name == "process"
    assert "messaging.destination.name" not in recorder.batch.attributes


async def test_the_span_of_a_message_says_where_it_is_and_what_became_of_it(
    recorder: Recorder, message: Message, page: PackedPage
) -> None:
    await process(recorder.traces, [with_trace(message, SAMPLED)], (page,), revision=2)
    (span,) = recorder.of_messages
    assert span.attributes == {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.consumer.group.name": "news",
        "messaging.destination.name": "raw",
        "messaging.destination.partition.id": "3",
        "messaging.kafka.offset": 41,
        "messaging.kafka.message.tombstone": False,
        "messaging.message.body.size": len(message.value or b""),
        "dehusk.revision": 2,
        "dehusk.outcome": "document",
        "dehusk.documents": 1,
        "dehusk.model.name": "boilerpipe",
        "dehusk.model.version": "1",
    }
    assert span.status.status_code is StatusCode.UNSET


async def test_a_message_without_a_document_says_why(recorder: Recorder, message: Message) -> None:
    broken = Broken(BrokenReason.MISSING_URL, "what the page says of itself")
    messages = [with_trace(message, SAMPLED, offset=number) for number in range(3)]
    await process(recorder.traces, messages, (SKIPPED,), (broken,), (Tombstone(b"gone"),))
    skipped, failed, removed = recorder.of_messages
    assert (skipped.attributes["dehusk.outcome"], skipped.attributes["dehusk.reason"]) == (
        "skipped",
        "no-body",
    )
    assert skipped.status.status_code is StatusCode.UNSET
    assert failed.attributes["dehusk.outcome"] == "dead-letter"
    assert failed.attributes["dehusk.stage"] == "prepare"
    assert failed.attributes["error.type"] == failed.attributes["dehusk.reason"] == "missing-url"
    assert failed.status.status_code is StatusCode.ERROR
    assert removed.attributes["dehusk.outcome"] == "tombstone"
    assert "says of itself" not in str([span.to_json() for span in recorder.spans])
    counts = {name: recorder.batch.attributes[f"dehusk.{name}"] for name in ("skipped", "dead_letters")}
    assert counts == {"skipped": 1, "dead_letters": 1}


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("traceparent", None),),
        (("traceparent", b""),),
        (("traceparent", b"00-1-2-01"),),
        (("traceparent", f"00-{'0' * 32}-{PRODUCER}-01".encode()),),
        (("traceparent", f"ff-{TRACE}-{PRODUCER}-01".encode()),),
        (("traceparent", SAMPLED.upper()),),
        (("traceparent", b"\xff" * 1000), ("tracestate", b"a=1")),
        (("tracestate", b"a=1"),),
    ],
)
async def test_what_is_made_of_a_message_without_a_valid_trace_is_of_the_trace_of_the_batch(
    recorder: Recorder, message: Message, page: PackedPage, headers: tuple[tuple[str, bytes | None], ...]
) -> None:
    (cleaned,) = await process(recorder.traces, [replace(message, headers=headers)], (page,))
    assert recorder.of_messages == []
    assert recorder.batch.links == ()
    assert trace_of(cleaned)["traceparent"].startswith(written(recorder.batch))
    assert "tracestate" not in trace_of(cleaned)


async def test_a_message_whose_trace_is_not_sampled_passes_it_on(
    recorder: Recorder, message: Message, page: PackedPage
) -> None:
    (cleaned,) = await process(recorder.traces, [with_trace(message, NOT_SAMPLED, b"a=1")], (page,))
    assert recorder.of_messages == []
    assert len(recorder.batch.links) == 1
    assert trace_of(cleaned) == {"traceparent": NOT_SAMPLED, "tracestate": b"a=1"}


async def test_messages_of_a_batch_that_is_not_sampled_have_the_spans_that_their_producers_want(
    message: Message, page: PackedPage
) -> None:
    recorder = Recorder(ALWAYS_OFF)
    plain = replace(message, headers=(), offset=1)
    pool = Pool((page,), (SKIPPED, Tombstone(b"gone")))
    traced, other = await process(recorder.traces, [with_trace(message, SAMPLED), plain], pool=pool)
    (span,) = recorder.spans
    assert f"{span.parent.span_id:016x}" == PRODUCER
    assert span.links == ()
    assert span.start_time <= pool.prepared_at <= span.end_time
    assert trace_of(traced) == {"traceparent": written(span) + b"01"}
    assert trace_of(other) == {}


async def test_a_tombstone_goes_on_in_the_trace_of_its_message(recorder: Recorder, message: Message) -> None:
    (cleaned,) = await process(recorder.traces, [with_trace(message, SAMPLED)], (Tombstone(b"gone"),))
    assert trace_of(cleaned)["traceparent"].startswith(written(recorder.of_messages[0]))


async def test_a_batch_that_has_to_wait_ends_without_spans_of_its_messages(
    recorder: Recorder, message: Message
) -> None:
    await process(recorder.traces, [with_trace(message, SAMPLED)], Postponed("no schema registry"))
    assert recorder.batch.attributes["messaging.batch.message_count"] == 1
    assert recorder.of_messages == []


async def test_without_export_records_have_the_headers_of_their_messages(
    message: Message, page: PackedPage
) -> None:
    traced = with_trace(message, b"00-not-valid", b"a=1")
    (cleaned,) = await process(UNTRACED, [traced], (page,))
    assert trace_of(cleaned) == {"traceparent": b"00-not-valid", "tracestate": b"a=1"}
