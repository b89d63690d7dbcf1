"""Steps of a message in a preparation process."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from dehusk.inference.sites import SiteKey
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason, Tombstone
from dehusk.schemas.pages import Encoding, Message, RawPage
from dehusk.streams.preparation.pool import PrepareTask, open_steps
from dehusk.streams.preparation.steps import Outcomes, PackedPage, Postponed, Preparer, Writing
from dehusk.streams.sources.html import Html
from dehusk.streams.sources.source import Decoded, MissingSchemaError

BLOCKS = 100


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
    (packed,) = Preparer(BLOCKS).prepare_message(Html(1 << 20), message)
    assert isinstance(packed, PackedPage)
    assert packed.identity.url == "https://example.org/a"
    unpacked = pickle.loads(packed.packed)
    assert len(packed.encoded) == len(unpacked.segmented) > 1
    assert unpacked.encoded.words.tolist() == packed.encoded.words.tolist()


def test_what_a_labeler_alone_reads_is_made_for_it_and_travels_no_further(message: Message) -> None:
    packed = []
    steps = open_steps(lambda: Html(1 << 20), BLOCKS, Writing())
    read = (Encoding.TOKENS, Encoding.BOILERPIPE, Encoding.DECLUTTER, Encoding.WEB2TEXT)
    for encodings in ((), read):
        outcomes = steps(PrepareTask(message, frozenset(encodings)))
        assert isinstance(outcomes, tuple)
        assert isinstance(outcomes[0], PackedPage)
        packed.append(outcomes[0])
    without, having = packed
    assert [getattr(without.encoded, encoding) for encoding in read] == [None] * 4
    assert all(getattr(having.encoded, encoding) is not None for encoding in read)
    assert having.encoded.declutter is not None
    assert having.encoded.declutter.shape == (len(having.encoded),)
    assert [getattr(pickle.loads(having.packed).encoded, encoding) for encoding in read] == [None] * 4
    assert len(having.packed) == len(without.packed)


@pytest.mark.parametrize(("key", "site"), [(SiteKey.HOST, "example.org"), (SiteKey.PATH, "example.org/")])
def test_the_site_of_a_page_is_named_as_the_steps_are_told(message: Message, key: SiteKey, site: str) -> None:
    outcomes = open_steps(lambda: Html(1 << 20), BLOCKS, Writing(), key)(PrepareTask(message))
    assert isinstance(outcomes, tuple)
    (packed,) = outcomes
    assert isinstance(packed, PackedPage)
    assert packed.identity.site == site
    assert pickle.loads(packed.packed).identity.site == site


def test_a_page_of_too_many_blocks_is_broken(message: Message) -> None:
    (broken,) = Preparer(2).prepare_message(Html(1 << 20), replace(message, value=b"<p>a<p>b<p>c"))
    detail = "the page has more than 2 blocks of text"
    assert broken == Broken(BrokenReason.TOO_MANY_BLOCKS, detail, "https://example.org/a")


def test_every_page_of_a_message_has_its_own_outcome(message: Message, html: bytes) -> None:
    skipped = Skipped(SkipReason.NO_BODY, "")
    broken = Broken(BrokenReason.MISSING_URL, "")
    pages = [RawPage("https://example.org/1", html), skipped, broken, Tombstone(b"k")]
    packed, *others = Preparer(BLOCKS).prepare_message(Canned(pages), message)
    assert isinstance(packed, PackedPage)
    assert others == [skipped, broken, Tombstone(b"k")]


def test_a_message_without_any_page_is_counted_as_skipped(message: Message) -> None:
    assert Preparer(BLOCKS).prepare_message(Canned([]), message) == (
        Skipped(SkipReason.NOT_A_PAGE, "the message holds no page"),
    )


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
    (broken,) = Preparer(BLOCKS).prepare_message(Canned(error), message)
    assert isinstance(broken, Broken)
    assert broken.reason is reason


def test_a_step_that_raises_breaks_its_page(message: Message, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*_: object, **__: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr("dehusk.streams.preparation.steps.prepare_page", raises)
    page = RawPage("https://example.org/1", b"")
    detail = "ValueError: a bug"
    assert Preparer(BLOCKS).prepare_message(Canned([page]), message) == (
        Broken(BrokenReason.INTERNAL_ERROR, detail, page.url),
    )


def test_a_message_whose_schema_is_missing_names_it(message: Message) -> None:
    source = Canned(MissingSchemaError("away", "ids/7"))
    assert Preparer(BLOCKS).prepare_message(source, message) == Postponed("away", "ids/7")


@pytest.mark.parametrize(
    ("error", "outcomes"),
    [
        (None, (Skipped(SkipReason.NOT_A_PAGE, "the message holds no page"),)),
        (UnavailableError("later"), Postponed("later")),
    ],
)
def test_a_decoder_may_be_a_generator(message: Message, error: Exception | None, outcomes: Outcomes) -> None:
    class Generator(Canned):
        def decode(self, message: Message) -> Iterator[Decoded]:  # type: ignore[override]
            yield from super().decode(message)

    assert Preparer(BLOCKS).prepare_message(Generator(error or []), message) == outcomes


def test_a_message_waits_for_the_schema_registry(message: Message) -> None:
    assert Preparer(BLOCKS).prepare_message(Canned(UnavailableError("registry")), message) == Postponed(
        "registry"
    )
