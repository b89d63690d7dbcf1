import pytest

from dehusk.inference import preparing as cleaning
from dehusk.inference.encoding.encoding import encode
from dehusk.inference.preparing import prepare
from dehusk.inference.segmentation.segmentation import segment
from dehusk.inference.sites import identify
from dehusk.schemas.errors import PageError
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.options import DocumentOptions
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import PreparedPage, RawPage, SegmentedPage

PAGE = RawPage("http://x.test/", b"<p>one<p>two")


def test_a_page_is_segmented_and_encoded() -> None:
    prepared = prepare(PAGE)
    assert isinstance(prepared, PreparedPage)
    assert prepared.identity == identify(PAGE)
    assert prepared.segmented == segment(PAGE.html, url=PAGE.url, options=DocumentOptions())
    assert prepared.segmented.structure is None
    assert prepared.encoded.words.tolist() == encode(prepared.segmented).words.tolist()


@pytest.mark.parametrize("level", MetadataLevel)
def test_metadata_are_read_where_they_are_asked_for(level: MetadataLevel) -> None:
    prepared = prepare(PAGE, options=DocumentOptions(metadata=level))
    assert isinstance(prepared, PreparedPage)
    assert (prepared.segmented.metadata is None) == (level is MetadataLevel.NONE)


def test_a_page_that_cannot_be_segmented_is_told_with_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(html: bytes, _max_blocks: int, **_: object) -> SegmentedPage:
        raise PageError(BrokenReason.MEMORY_BUDGET_EXCEEDED, f"{len(html)} bytes")

    monkeypatch.setattr(cleaning, "segment", refuse)
    assert prepare(PAGE) == Broken(BrokenReason.MEMORY_BUDGET_EXCEEDED, "12 bytes", "http://x.test/")
