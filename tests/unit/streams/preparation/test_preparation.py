"""What a message becomes in a preparation process."""

from collections.abc import Sequence

import pytest

from inference.cleaning import PreparedPage
from schemas.errors import UnavailableError
from schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason, Tombstone
from schemas.pages import Message, RawPage
from streams.preparation.preparation import Postponed, prepare, preparer
from streams.sources.html import Html
from streams.sources.source import Decoded


class Canned(Html):
    """A source that answers what the test says."""

    def __init__(self, answer: Sequence[Decoded] | Exception) -> None:
        super().__init__(1 << 20)
        self.answer = answer

    def decode(self, message: Message) -> Sequence[Decoded]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_page_is_segmented_and_encoded(message: Message) -> None:
    (prepared,) = preparer(lambda: Html(1 << 20))(message)
    assert isinstance(prepared, PreparedPage)
    assert prepared.identity.url == "https://example.org/a"
    assert len(prepared.encoded) == len(prepared.segmented) > 1


def test_every_page_of_a_message_has_its_own_outcome(message: Message, html: bytes) -> None:
    skipped = Skipped(SkipReason.NO_BODY, "")
    broken = Broken(BrokenReason.MISSING_URL, "")
    pages = [RawPage("https://example.org/1", html), skipped, broken, Tombstone(b"k")]
    prepared, *others = prepare(Canned(pages), message)
    assert isinstance(prepared, PreparedPage)
    assert others == [skipped, broken, Tombstone(b"k")]


def test_a_message_without_any_page_is_counted_as_skipped(message: Message) -> None:
    assert prepare(Canned([]), message) == (Skipped(SkipReason.NOT_A_PAGE, "the message holds no page"),)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("a bug"), BrokenReason.INTERNAL_ERROR),
        (RecursionError(), BrokenReason.INTERNAL_ERROR),
        (MemoryError(), BrokenReason.MEMORY_BUDGET_EXCEEDED),
    ],
)
def test_a_decoder_that_raises_breaks_its_message(
    message: Message, error: Exception, reason: BrokenReason
) -> None:
    (broken,) = prepare(Canned(error), message)
    assert isinstance(broken, Broken)
    assert broken.reason is reason


def test_a_step_that_raises_breaks_its_page(message: Message, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(page: RawPage) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr("streams.preparation.preparation.prepare_page", raises)
    page = RawPage("https://example.org/1", b"")
    detail = "ValueError: a bug"
    assert prepare(Canned([page]), message) == (Broken(BrokenReason.INTERNAL_ERROR, detail, page.url),)


def test_a_message_waits_for_the_schema_registry(message: Message) -> None:
    assert prepare(Canned(UnavailableError("registry")), message) == Postponed("registry")
