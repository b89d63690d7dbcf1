"""The way of a batch through the steps."""

import asyncio
import pickle
from collections.abc import Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np
import orjson
import pytest
from prometheus_client import CollectorRegistry

from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.inference.selection.site_signal import correct
from dehusk.schemas.documents import TextSample, origin_of
from dehusk.schemas.errors import NotEncodedError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import EncodedPage, Encoding, Message, ModelVersion, Prediction, Web2TextTensors
from dehusk.schemas.sites import SiteObservation, SiteStatistics
from dehusk.streams.availability import Dependency
from dehusk.streams.preparation.batch import (
    BatchAnswers,
    BatchCleaner,
    Correct,
    Failure,
    LabelingPolicy,
    Note,
    UniformBatchLabeler,
    observation,
)
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.preparation.steps import (
    LabeledPage,
    Outcomes,
    PackedPage,
    Postponed,
    Writing,
    WrittenDocument,
)
from dehusk.streams.settings import MIB
from dehusk.streams.sites.store import MemorySiteStatistics, SiteStatisticsStore
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.results import CleanedMessage
from dehusk.streams.worker.steps.batch import MessageCleaner, StoreObserver
from dehusk.streams.worker.steps.labeling import (
    DegradingLabeling,
    ProbedLabeler,
    WaitingLabeling,
)


class Pool:
    """Preparation that answers what the test says, message by message, until it knows no more."""

    def __init__(self, *answers: Outcomes, room_for: int = 100, writing: Writing | None = None) -> None:
        self.writing = writing or Writing()
        self.answers = list(answers)
        self.room_for = room_for
        self.alone: list[str] = []
        self.encodings: list[frozenset[Encoding]] = []

    async def prepare(
        self, messages: Sequence[Message], max_bytes: float = 0, encodings: frozenset[Encoding] = frozenset()
    ) -> list[Outcomes]:
        self.encodings.append(encodings)
        return [self.answers.pop(0) for _ in messages[: len(self.answers)]]

    async def prepare_alone(self, message: Message, encodings: frozenset[Encoding] = frozenset()) -> Outcomes:
        self.alone.append("prepare")
        self.encodings.append(encodings)
        return self.answers.pop(0)

    async def extract(
        self, pages: Sequence[LabeledPage], max_bytes: float = 0
    ) -> list[WrittenDocument | Broken]:
        return [self.writing.extract(page) for page in pages[: self.room_for]]

    async def extract_alone(self, page: LabeledPage) -> WrittenDocument | Broken:
        self.alone.append("extract")
        return Writing().extract(page)


class LargeWriting(Writing):
    """Writing of documents that are padded."""

    def extract(self, page: LabeledPage) -> WrittenDocument | Broken:
        document = super().extract(page)
        assert isinstance(document, WrittenDocument)
        return replace(document, value=(document.value or b"") + bytes(8 * MIB))


class Reading(RulesLabeler):
    """A labeler whose model reads an encoding, as it finds out when it is asked."""

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        if any(page.web2text is None for page in pages):
            raise NotEncodedError(Encoding.WEB2TEXT)
        return await super().label(pages)


WEB2TEXT, SITE_KEYS = frozenset((Encoding.WEB2TEXT,)), frozenset((Encoding.SITE_KEYS,))


class RefusingLabeling:
    """Policy that has no answer for the first page of a batch."""

    async def label(self, pages: Sequence[EncodedPage]) -> BatchAnswers:
        return BatchAnswers([REFUSED, *await RulesLabeler().label(pages[1:])])


REFUSED = Broken(BrokenReason.REJECTED_BY_MODEL, "no answer")


def cleaner(
    pool: Pool,
    *,
    redis: Dependency | None = None,
    labeling: LabelingPolicy | None = None,
    correct: Correct = correct,
    store: SiteStatisticsStore | None = None,
    note: Note = lambda _site, _samples: None,
    encodings: frozenset[Encoding] = frozenset(),
) -> MessageCleaner:
    batches = BatchCleaner(
        pool,
        UniformBatchLabeler(
            labeling or WaitingLabeling(RulesLabeler(), Dependency("triton", "")), lambda: encodings
        ),
        StoreObserver(store or MemorySiteStatistics(), redis or Dependency("redis", "")),
        note,
        correct,
    )
    return MessageCleaner(batches, "application/json", Metrics(CollectorRegistry(), ()))


def reading(
    pool: Pool, encodings: frozenset[Encoding] = frozenset(), store: SiteStatisticsStore | None = None
) -> MessageCleaner:
    """A cleaner whose labeler reads Web2Text's encoding, of which so much is known."""
    labeling = WaitingLabeling(ProbedLabeler(Reading()), Dependency("triton", ""))
    return cleaner(pool, labeling=labeling, store=store, encodings=encodings)


def encoded(page: PackedPage) -> PackedPage:
    """The page with what Web2Text reads of it."""
    blocks = len(page.encoded)
    tensors = Web2TextTensors(
        np.zeros((blocks, 128), np.float16), np.zeros((blocks, 21), np.float16), np.zeros(blocks, np.uint8)
    )
    return replace(page, encoded=replace(page.encoded, web2text=tensors))


@pytest.mark.parametrize("with_keys", [False, True])
async def test_pages_that_nobody_counts_have_keys_only_on_request(
    message: Message,
    page: PackedPage,
    with_keys: bool,  # noqa: FBT001
) -> None:
    pool = Pool((page,))
    labeling = UniformBatchLabeler(WaitingLabeling(RulesLabeler(), Dependency("triton", "")))
    await BatchCleaner(pool, labeling).label([message], with_keys=with_keys)
    assert pool.encodings == [SITE_KEYS if with_keys else frozenset()]


def test_a_page_without_keys_cannot_be_counted(page: PackedPage) -> None:
    without = replace(page, encoded=replace(page.encoded, site_keys=None))
    labels = Prediction(np.zeros(len(page.encoded), np.float32), ModelVersion("m", "1"), "onnx")
    with pytest.raises(NotEncodedError, match="'site_keys'"):
        observation(without, labels)


async def test_pages_that_lack_what_the_model_reads_are_prepared_again(
    message: Message, page: PackedPage
) -> None:
    pool = Pool((page,), (encoded(page),))
    store = MemorySiteStatistics()
    (cleaned,) = await reading(pool, store=store).clean([message])
    assert pool.encodings == [SITE_KEYS, SITE_KEYS | WEB2TEXT]
    assert orjson.loads(cleaned.records[0].value or b"")["template"] == template(pages_seen=1)


async def test_a_huge_page_that_lacks_what_the_model_reads_is_prepared_again(
    message: Message, page: PackedPage
) -> None:
    pool = Pool((page,), (encoded(page),))
    cleaned = await reading(pool).clean_alone(message)
    assert isinstance(cleaned, CleanedMessage)
    assert len(cleaned.documents) == 1
    assert (pool.alone, pool.encodings) == (
        ["prepare", "prepare", "extract"],
        [SITE_KEYS, SITE_KEYS | WEB2TEXT],
    )


async def test_pages_are_prepared_with_what_the_model_is_known_to_read(
    message: Message, page: PackedPage
) -> None:
    pool = Pool((encoded(page),))
    await reading(pool, WEB2TEXT).clean([message])
    assert pool.encodings == [SITE_KEYS | WEB2TEXT]


async def test_pages_that_cannot_be_encoded_are_not_prepared_for_ever(
    message: Message, page: PackedPage
) -> None:
    with pytest.raises(NotEncodedError, match="web2text"):
        await reading(Pool(*[(page,)] * 9)).clean([message])


def template(**known: int) -> dict[str, int]:
    """Return the fields of a document on its site, zeros but for those given."""
    return {"pages_seen": 0, "blocks_matched": 0, "blocks_dropped": 0, "blocks_saved": 0} | known


async def test_messages_keep_their_order(message: Message, page: PackedPage) -> None:
    skipped = Skipped(SkipReason.NO_BODY, "")
    cleaned = await cleaner(Pool((skipped,), (page,), (skipped,))).clean([message] * 3)
    assert [len(each.documents) for each in cleaned] == [0, 1, 0]


async def test_a_batch_of_huge_pages_is_cleaned_as_far_as_it_was_prepared(
    message: Message, page: PackedPage
) -> None:
    second = replace(message, offset=message.offset + 1)
    cleaned = await cleaner(Pool((page,), (page,))).clean([message, second, message])
    assert [each.message for each in cleaned] == [message, second]
    assert [len(each.documents) for each in cleaned] == [1, 1]


async def test_a_batch_without_pages_asks_nobody(message: Message) -> None:
    (cleaned,) = await cleaner(Pool((Skipped(SkipReason.NO_BODY, ""),))).clean([message])
    assert len(cleaned.skipped) == 1


async def test_what_was_missing_is_said(message: Message, page: PackedPage) -> None:
    redis, triton = Dependency("redis", ""), Dependency("triton", "")
    redis.missed(OSError())
    triton.missed(OSError())
    labeling = DegradingLabeling(RulesLabeler(), RulesLabeler(), triton)
    (cleaned,) = await cleaner(Pool((page,)), redis=redis, labeling=labeling).clean([message])
    document = orjson.loads(cleaned.records[0].value or b"")
    assert document["degraded"] == ["frequencies", "model"]
    assert document["template"] is None


async def test_the_heap_is_told_of_a_large_message(message: Message) -> None:
    large = cleaner(Pool((Skipped(SkipReason.NO_BODY, ""),)))
    await large.clean([replace(message, value=bytes(8 * MIB))])
    assert large.heap.end_interval()


async def test_the_heap_is_told_of_a_small_message_whose_page_is_large(
    message: Message, page: PackedPage
) -> None:
    large = cleaner(Pool((replace(page, packed=page.packed + bytes(8 * MIB)),)))
    await large.clean([message])
    assert large.heap.end_interval()


async def test_the_heap_is_told_of_a_large_document(message: Message, page: PackedPage) -> None:
    large = cleaner(Pool((page,), writing=LargeWriting()))
    await large.clean([message])
    assert large.heap.end_interval()


async def test_small_messages_do_not_have_memory_returned(message: Message, page: PackedPage) -> None:
    small = cleaner(Pool((page,), (page,)))
    await small.clean([message] * 2)
    assert not small.heap.end_interval()


async def test_messages_that_have_to_wait_do_not_count(message: Message, page: PackedPage) -> None:
    waiting = cleaner(Pool((page,)))
    await waiting.clean([message, replace(message, value=bytes(8 * MIB))])
    assert not waiting.heap.end_interval()


async def test_a_postponed_message_does_not_hold_up_its_neighbors(message: Message, page: PackedPage) -> None:
    postponed = Postponed("unavailable")
    first, second, third = await cleaner(Pool((page,), postponed, (page,))).clean([message] * 3)
    assert second is postponed
    assert (len(first.documents), len(third.documents)) == (1, 1)


async def test_nothing_is_cleaned_of_a_batch_that_is_postponed(message: Message) -> None:
    postponed = Postponed("unavailable")
    assert await cleaner(Pool(postponed, postponed)).clean([message] * 2) == [postponed] * 2


async def test_a_document_tells_of_its_message_and_of_the_site(message: Message, page: PackedPage) -> None:
    (cleaned,) = await cleaner(Pool((page,))).clean([message])
    document = orjson.loads(cleaned.records[0].value or b"")
    assert document["source"] == {"topic": "raw", "partition": 3, "offset": 41}
    assert document["template"] == template(pages_seen=1)


class Seen:
    """A correction that finds no content, and notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Prediction, int]] = []

    def __call__(self, prediction: Prediction, statistics: SiteStatistics) -> Prediction:
        self.told.append((prediction, statistics.pages))
        return replace(prediction, probabilities=np.zeros_like(prediction.probabilities))


def elsewhere(page: PackedPage, path: str) -> PackedPage:
    """The same page at another address of its site, with a text of its own for its last one."""
    prepared = pickle.loads(page.packed)
    identity = replace(page.identity, url=f"https://{page.identity.site}/{path}")
    keys = page.encoded.site_keys
    assert keys is not None
    texts = keys.texts.copy()
    texts[-1] = crc32(path.encode())
    encoded = replace(page.encoded, site_keys=replace(keys, texts=texts))
    return PackedPage(identity, encoded, pickle.dumps(replace(prepared, identity=identity, encoded=encoded)))


async def test_documents_are_of_labels_that_are_corrected_by_the_site(
    message: Message, page: PackedPage
) -> None:
    correct, other = Seen(), elsewhere(page, "other")
    first, second = await cleaner(Pool((page,), (other,)), correct=correct).clean([message] * 2)
    (labels,) = await RulesLabeler().label([page.encoded])
    assert [pages for _, pages in correct.told] == [0, 1]
    for prediction, _ in correct.told:
        assert prediction.probabilities.tolist() == labels.probabilities.tolist()
    documents = [orjson.loads(each.records[0].value or b"") for each in (first, second)]
    assert [document["text"] for document in documents] == ["", ""]
    assert documents[1]["template"] == template(pages_seen=2, blocks_matched=len(page.encoded) - 1)


class Told(MemorySiteStatistics):
    """A store that notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.probabilities: list[list[float]] = []

    async def observe(self, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
        self.probabilities += [page.probabilities.tolist() for page in pages]
        return await super().observe(pages)


async def test_a_site_is_told_what_the_labeler_answered_before_any_correction(
    message: Message, page: PackedPage
) -> None:
    (labels,) = await RulesLabeler().label([page.encoded])
    store, again = Told(), elsewhere(page, "other")
    await cleaner(Pool((page,), (again,)), correct=Seen(), store=store).clean([message] * 2)
    assert store.probabilities == [labels.probabilities.tolist()] * 2


async def test_samples_of_the_pages_that_have_documents_are_noted(message: Message, page: PackedPage) -> None:
    noted: list[tuple[str, Sequence[TextSample]]] = []
    pages = [elsewhere(page, str(number)) for number in range(5)]
    sampling = Pool(*((each,) for each in pages), writing=Writing(with_samples=True), room_for=4)
    await cleaner(sampling, note=lambda *told: noted.append(told)).clean([message] * 5)
    assert [site for site, _ in noted] == ["example.org"] * 4
    assert [[each.pages for each in samples] for _, samples in noted] == [[], [], [], [4]]


async def test_a_message_tells_which_of_its_pages_were_observed(message: Message, page: PackedPage) -> None:
    second, other = replace(message, offset=message.offset + 1), elsewhere(page, "other")
    pool = Pool((page, other), (page,))
    first, again = await cleaner(pool).clean([message, second])
    visits = [(visit.url, visit.known, visit.is_counted) for visit in (*first.visits, *again.visits)]
    assert visits == [
        (page.identity.url, 0, False),
        (other.identity.url, 1, False),
        (page.identity.url, 1, True),
    ]
    assert [visit.origin.offset for visit in (*first.visits, *again.visits)] == [41, 41, 42]
    assert first.visits[0].site == page.identity.site


async def test_a_copy_of_a_page_is_no_page_to_clean_again(message: Message, page: PackedPage) -> None:
    url = f"{page.identity.url}?sid=1"
    copy = replace(page, identity=replace(page.identity, url=url))
    first, again = await cleaner(Pool((page,), (copy,))).clean([message] * 2)
    assert [visit.url for visit in (*first.visits, *again.visits)] == [page.identity.url]
    document = orjson.loads(again.records[0].value or b"")
    assert document["template"]["pages_seen"] == 1


async def test_without_statistics_it_is_not_known_if_a_page_was_counted(
    message: Message, page: PackedPage
) -> None:
    redis = Dependency("redis", "")
    redis.missed(OSError())
    (cleaned,) = await cleaner(Pool((page,)), redis=redis).clean([message])
    (visit,) = cleaned.visits
    assert (visit.url, visit.origin) == (page.identity.url, origin_of(message))
    assert (visit.known, visit.is_counted, visit.may_be_kept) == (None, False, True)


async def test_documents_have_the_revision_of_their_cleaner(message: Message, page: PackedPage) -> None:
    again = replace(cleaner(Pool((page,))), _revision=2)
    (cleaned,) = await again.clean([message])
    assert orjson.loads(cleaned.records[0].value or b"")["revision"] == 2


async def test_cleaners_of_two_revisions_clean_huge_pages_in_turn(message: Message, page: PackedPage) -> None:
    working = 0

    class Counting(Pool):
        async def prepare_alone(
            self, message: Message, encodings: frozenset[Encoding] = frozenset()
        ) -> Outcomes:
            nonlocal working
            assert not working
            working += 1
            await asyncio.sleep(0)
            return (page,)

        async def extract_alone(self, page: LabeledPage) -> WrittenDocument | Broken:
            nonlocal working
            working -= 1
            return await super().extract_alone(page)

    first = cleaner(Counting())
    await asyncio.gather(*(each.clean_alone(message) for each in (first, replace(first, _revision=2))))


async def test_without_statistics_labels_are_not_corrected(message: Message, page: PackedPage) -> None:
    redis, correct = Dependency("redis", ""), Seen()
    redis.missed(OSError())
    (cleaned,) = await cleaner(Pool((page,)), redis=redis, correct=correct).clean([message])
    document = orjson.loads(cleaned.records[0].value or b"")
    assert (correct.told, document["degraded"], document["text"] != "") == ([], ["frequencies"], True)


async def test_a_batch_ends_before_a_message_whose_documents_find_no_room(
    message: Message, page: PackedPage
) -> None:
    cleaned = await cleaner(Pool((page,), (page, page), (page,), room_for=2)).clean([message] * 3)
    assert [len(each.documents) for each in cleaned] == [1]


async def test_a_message_that_has_to_be_cleaned_alone_is_none_of_a_batch(
    message: Message, page: PackedPage
) -> None:
    pool = Pool()
    assert await cleaner(pool).clean([message]) == [Oversized()]
    pool.answers = [(page, page)]
    assert len((await cleaner(pool).clean_alone(message)).documents) == 2
    assert pool.alone == ["prepare", "extract", "extract"]


async def test_a_message_that_is_cleaned_alone_may_be_postponed(message: Message) -> None:
    postponed = Postponed("unavailable")
    assert await cleaner(Pool(postponed)).clean_alone(message) is postponed


async def test_a_page_that_the_labeler_refuses_is_broken_alone(message: Message, page: PackedPage) -> None:
    cleaned = await cleaner(Pool((page,), (page,)), labeling=RefusingLabeling()).clean([message] * 2)
    assert [each.failure for each in cleaned] == [Failure("label", REFUSED), None]
    assert [len(each.documents) for each in cleaned] == [0, 1]
    document = orjson.loads(cleaned[1].records[0].value or b"")
    assert document["template"] == template(pages_seen=1)  # what is refused is not counted


async def test_a_page_that_breaks_the_extraction_is_broken_alone(message: Message, page: PackedPage) -> None:
    prepared = pickle.loads(page.packed)
    unwritable = replace(prepared.segmented, texts=("\ud800",) * len(prepared.segmented))
    broken = replace(page, packed=pickle.dumps(replace(prepared, segmented=unwritable)))
    cleaned = await cleaner(Pool((broken,), (page,))).clean([message] * 2)
    failure = cleaned[0].failure
    assert failure is not None
    assert (failure.stage, failure.broken.reason) == ("extract", BrokenReason.INTERNAL_ERROR)
    assert [len(each.documents) for each in cleaned] == [0, 1]
