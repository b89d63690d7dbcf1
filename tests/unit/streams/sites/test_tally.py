"""What a page adds to its site, and what is known without it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.pages import SiteObservation
from dehusk.streams.sites.tally import LIKELIHOOD_UNIT, Counts, tally, without


def page_of(texts: list[int], structures: list[int], probabilities: list[float]) -> SiteObservation:
    return SiteObservation(
        "a.test",
        "https://a.test/",
        texts=np.array(texts, np.uint64),
        structures=np.array(structures, np.uint64),
        probabilities=np.array(probabilities, np.float32),
    )


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([1, 2, 2**64 - 1]), st.integers(0, 4))))
def test_texts_and_structures_are_told_apart_and_added_up(blocks: list[tuple[int, int, int]]) -> None:
    texts, structures = [text for text, _, _ in blocks], [structure for _, structure, _ in blocks]
    found = tally(page_of(texts, structures, [quarters / 4 for _, _, quarters in blocks]))
    assert found.texts.tolist() == sorted(set(texts))
    assert found.texts[found.text_of].tolist() == texts
    assert found.structures.tolist() == sorted(set(structures))
    assert found.structures[found.structure_of].tolist() == structures
    assert found.blocks.tolist() == [structures.count(key) for key in found.structures.tolist()]
    assert found.likelihood.tolist() == [
        sum(quarters * LIKELIHOOD_UNIT // 4 for _, structure, quarters in blocks if structure == key)
        for key in found.structures.tolist()
    ]


def known(
    *, is_counted: bool, texts: int, pages: int, blocks: int, likelihood: float
) -> tuple[int, int, int, int, float]:
    """What is known of each block of a page of two likely blocks of one text and structure, of five pages."""
    page = tally(page_of([7, 7], [8, 8], [1.0, 1.0]))
    in_units = round(likelihood * LIKELIHOOD_UNIT)
    counts = Counts(5, is_counted, np.array([texts]), np.array([[pages], [blocks], [in_units]]))
    found = without(page, counts)
    assert found.is_counted == is_counted
    columns = (found.texts, found.structure_pages, found.structure_blocks, found.structure_likely)
    first, second = zip(*(column.tolist() for column in columns), strict=True)
    assert first == second
    return found.pages, *first


def test_what_was_counted_of_the_page_itself_is_taken_off() -> None:
    site = {"texts": 3, "pages": 4, "blocks": 8, "likelihood": 5.0}
    assert known(is_counted=False, **site) == (5, 3, 4, 8, 5 / 8)
    assert known(is_counted=True, **site) == (4, 2, 3, 6, 3 / 6)


def test_what_no_other_page_has_is_not_known() -> None:
    assert known(is_counted=False, texts=0, pages=0, blocks=0, likelihood=0) == (5, 0, 0, 0, 0)
    assert known(is_counted=True, texts=1, pages=1, blocks=3, likelihood=2.5) == (4, 0, 0, 0, 0)


def test_what_was_forgotten_or_has_changed_leaves_no_count_below_zero_or_mean_above_one() -> None:
    assert known(is_counted=True, texts=0, pages=0, blocks=0, likelihood=0) == (4, 0, 0, 0, 0)
    assert known(is_counted=True, texts=1, pages=2, blocks=1, likelihood=1) == (4, 0, 1, 0, 0)
    assert known(is_counted=True, texts=1, pages=2, blocks=3, likelihood=1) == (4, 0, 1, 1, 0)
    assert known(is_counted=False, texts=1, pages=1, blocks=1, likelihood=1.5) == (5, 1, 1, 1, 1)
