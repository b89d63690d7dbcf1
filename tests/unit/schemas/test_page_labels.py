from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b

import pytest

from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.page_labels import Label, Misfit, PageLabels, blocks_hash, html_hash, text_hash

HTML = b"<p>one<p>two \xc3\xa4"
LABELS = PageLabels(
    id="a",
    url=None,
    html_hash=html_hash(HTML),
    blocks_hash=blocks_hash(segment(HTML).texts),
    labels=(1, 0),
    labeled_at=datetime(2026, 11, 23, 3, 30, tzinfo=UTC),
)


def test_hashes_are_those_that_the_format_names() -> None:
    assert html_hash(HTML) == blake2b(HTML, digest_size=16).hexdigest()
    assert blocks_hash(["one", "two ä"]) == blake2b("one\0two ä\0".encode(), digest_size=16).hexdigest()
    assert blocks_hash(["onetwo"]) != blocks_hash(["one", "two"])


@pytest.mark.parametrize(
    ("labels", "how_far"),
    [((1, 0), (True, True)), ((1, None), (False, True)), ((None,), (False, False)), ((), (True, True))],
)
def test_how_far_a_page_is_labeled(labels: tuple[Label, ...], how_far: tuple[bool, bool]) -> None:
    page = replace(LABELS, labels=labels)
    assert (page.is_complete, page.is_started) == how_far


def test_labels_fit_the_page_that_was_labeled_alone() -> None:
    same = segment(HTML).texts
    assert LABELS.misfit_with(html_hash(HTML), same) is None
    assert LABELS.misfit_with(html_hash(HTML + b" "), same) is Misfit.CHANGED_PAGE
    assert LABELS.misfit_with(html_hash(HTML), same[:1]) is Misfit.OTHER_BLOCKS
    assert replace(LABELS, labels=(1,)).misfit_with(html_hash(HTML), same) is Misfit.OTHER_BLOCKS
    half = replace(LABELS, labels=(1, None))
    assert half.misfit_with(html_hash(HTML), same) is Misfit.HALF_LABELED
    assert half.misfit_with(html_hash(b""), same) is Misfit.CHANGED_PAGE


def test_labels_carry_over_to_blocks_of_the_same_texts() -> None:
    was = ("Home", "news", "Home", "end", "new?")
    page = replace(LABELS, labels=(0, 1, 1, 0, None), text_hashes=tuple(map(text_hash, was)))
    assert page.carried_to(["first", "news", "Home", "Home", "Home", "new?"]) == (None, 1, 0, 1, None, None)
    assert page.carried_to([]) == ()
    assert LABELS.carried_to(["one"]) == (None,)
