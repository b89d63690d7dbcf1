"""Samples of the texts that a site repeats."""

from dataclasses import replace

import numpy as np
import pytest

from dehusk.inference.preparing import prepare
from dehusk.inference.selection.selection import choose
from dehusk.inference.selection.site_signal import MAX_CHANGED, MAX_CHARACTERS, MAX_REPEATED, sample
from dehusk.schemas.documents import TextSample
from dehusk.schemas.options import DocumentOptions
from dehusk.schemas.pages import Encoding, ModelVersion, Prediction, PreparedPage, RawPage
from dehusk.schemas.sites import BlockFrequencies


def page_of(*texts: str) -> PreparedPage:
    html = "".join(f"<p>{text}</p>" for text in texts)
    prepared = prepare(RawPage("https://a.test/", html.encode()), encodings=(Encoding.SITE_KEYS,))
    assert isinstance(prepared, PreparedPage)
    return prepared


def samples(
    *blocks: tuple[str, float, float, int], seen: int = 5, drop_hidden: bool = False
) -> tuple[TextSample, ...]:
    """Of blocks with a text, a probability before and after the correction, and pages that have it."""
    texts, before, after, counts = zip(*blocks, strict=True)
    page = page_of(*texts)
    labels = Prediction(np.array(after, np.float32), ModelVersion("m", "1"), "onnx")
    labels = replace(labels, uncorrected=np.array(before, np.float32))
    known = BlockFrequencies(seen, np.array(counts, np.uint32))
    return sample(page, choose(page.encoded, labels, DocumentOptions(drop_hidden=drop_hidden)), known)


def test_a_text_that_was_dropped_or_saved_is_a_sample() -> None:
    found = samples(("The mill turns", 1, 1, 1), ("Sign up", 0.9, 0.1, 3), ("It grinds", 0.1, 0.9, 1))
    assert [(each.text, each.pages, each.dropped, each.saved) for each in found] == [
        ("Sign up", 3, True, False),
        ("It grinds", 1, False, True),
    ]
    keys = page_of("The mill turns", "Sign up", "It grinds").encoded.site_keys
    assert keys is not None
    assert [each.fingerprint for each in found] == keys.texts[1:].tolist()


@pytest.mark.parametrize(
    ("seen", "shown"), [(2, False), (3, False), (4, True), (5, False), (8, True), (64, True)]
)
def test_what_many_pages_have_is_a_sample_of_few_of_them(seen: int, shown: bool) -> None:  # noqa: FBT001
    blocks = (
        ("The mill turns", 1, 1, 1),
        ("Home", 0, 0, seen),
        ("|", 0, 0, seen),
        ("Imprint", 0, 0, seen // 4),
    )
    texts = [each.text for each in samples(*blocks, seen=seen)]
    repeated = ["Home", "Imprint"] if seen >= 8 else ["Home"]
    assert texts == (repeated if shown else [])


def test_a_text_is_one_sample_however_many_blocks_have_it() -> None:
    found = samples(("Sign up", 0.9, 0.1, 4), ("The mill", 1, 1, 1), ("Sign up", 0.9, 0.1, 4), seen=4)
    assert [(each.text, each.dropped) for each in found] == [("Sign up", True)]


def test_a_page_gives_those_on_the_most_pages_and_no_more_than_so_many() -> None:
    changed = [(f"news {chr(97 + at) * 3}", 0.9, 0.1, 1 + at) for at in range(20)]
    repeated = [(f"menu {chr(97 + at % 26) * (2 + at // 26)}", 0.0, 0.0, 40 + at) for at in range(40)]
    found = samples(("The mill turns", 1, 1, 1), *changed, *repeated, seen=128)
    assert [each.pages for each in found if each.dropped] == list(range(20, 20 - MAX_CHANGED, -1))
    assert [each.pages for each in found if not each.dropped] == list(range(79, 79 - MAX_REPEATED, -1))


def test_a_long_text_is_cut() -> None:
    (found,) = samples(("The mill turns", 1, 1, 1), ("word " * 100, 0.9, 0.1, 3))
    assert found.text == ("word " * 100)[:MAX_CHARACTERS]


def test_a_page_without_blocks_has_none() -> None:
    page = page_of()
    labels = Prediction(np.zeros(0, np.float32), ModelVersion("m", "1"), "onnx")
    assert sample(page, choose(page.encoded, labels), BlockFrequencies(4, np.zeros(0, np.uint32))) == ()
