"""The results of a batch whose documents may not all have found room."""

import numpy as np
import pytest

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, ModelVersion, Prediction
from dehusk.streams.preparation.batch import (
    BatchCleaner,
    Failure,
    LabeledBatch,
    MessageResult,
    ObservedPage,
    PageResult,
    UniformBatchLabeler,
)
from dehusk.streams.preparation.steps import PackedPage, Postponed, WrittenDocument

SKIPPED = Skipped(SkipReason.NO_BODY, "")
REFUSED = Broken(BrokenReason.REJECTED_BY_MODEL, "no answer")
TOO_LARGE = Broken(BrokenReason.DOCUMENT_TOO_LARGE, "")
DOCUMENT = WrittenDocument(b"https://example.org/a", b"a document", is_empty=False, characters=8)
POSTPONED = Postponed("unavailable")


async def results(
    page: PackedPage, message: Message, *documents: WrittenDocument | Broken
) -> list[MessageResult]:
    """The results of five messages; of the two pages of the third, the first is refused."""
    labels = Prediction(np.zeros(len(page.encoded), np.float32), ModelVersion("m", "1"), "onnx")
    observed = ObservedPage(page, labels, message, None)
    prepared = [(page,), (SKIPPED,), (page, page), POSTPONED, (page,)]
    batch = LabeledBatch(prepared, [observed, REFUSED, observed, observed])

    async def extract(pages: object) -> list[WrittenDocument | Broken]:
        return list(documents)

    return await BatchCleaner(None, UniformBatchLabeler(None)).extract(batch, extract)  # type: ignore[arg-type] # none is asked


@pytest.mark.parametrize(("documents", "messages"), [(0, 0), (1, 2), (2, 4), (3, 5)])
async def test_messages_have_results_as_far_as_there_are_documents(
    page: PackedPage, message: Message, documents: int, messages: int
) -> None:
    assert len(await results(page, message, *[DOCUMENT] * documents)) == messages


async def test_results_are_of_the_pages_of_their_own_messages(page: PackedPage, message: Message) -> None:
    found = await results(page, message, DOCUMENT, TOO_LARGE, DOCUMENT)
    told = [
        [each.document if isinstance(each, PageResult) else each for each in result]
        if isinstance(result, tuple)
        else result
        for result in found
    ]
    refused, too_large = Failure("label", REFUSED), Failure("extract", TOO_LARGE)
    assert told == [[DOCUMENT], [SKIPPED], [refused, too_large], POSTPONED, [DOCUMENT]]
