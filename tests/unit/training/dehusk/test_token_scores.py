from dataclasses import replace

import numpy as np
import pytest

from dehusk.training.dehusk.config import DEFAULT_CONFIG, DehuskConfig
from dehusk.training.dehusk.examples import example_of
from dehusk.training.dehusk.token_scores import (
    ELEMENT_BUCKETS,
    HEADING_WORDS,
    LEVELS,
    MAX_SCORE,
    SCORES,
    WORD_BUCKETS,
    element_entries,
    fit_token_scores,
    word_entries,
)

pytestmark = pytest.mark.training

CONFIG = DehuskConfig.read(DEFAULT_CONFIG)


def test_words_stand_to_a_block_in_it_or_in_the_heading_above(pages):
    structure = pages[0].structure
    blocks, columns = word_entries(structure)
    own = columns < WORD_BUCKETS
    assert np.bincount(blocks[own]).tolist() == structure.word_lengths.tolist()
    under = np.flatnonzero(structure.heading)
    assert len(under)
    for block in under:
        heading = structure.heading[block] - 1
        found = columns[~own & (blocks == block)] - WORD_BUCKETS
        first = columns[own & (blocks == heading)][:HEADING_WORDS]
        assert found.tolist() == first.tolist()


def test_class_names_stand_to_a_block_at_any_level_and_at_their_own(pages):
    structure = pages[0].structure
    blocks, columns = element_entries(structure)
    levels = columns // ELEMENT_BUCKETS
    assert set(levels.tolist()) == set(range(1 + LEVELS))
    innermost = columns[(blocks == 0) & (levels == 1)] % ELEMENT_BUCKETS
    element = structure.element[0] - 1
    lengths = structure.element_token_lengths.astype(int)
    start = int(lengths[:element].sum())
    tokens = structure.element_tokens[start : start + lengths[element]]
    assert sorted(innermost.tolist()) == sorted((tokens % ELEMENT_BUCKETS).tolist())


def test_scores_tell_content_on_sites_that_were_not_seen(pages):
    examples = [example_of(page, CONFIG) for page in pages]
    scores = fit_token_scores(examples[:16], least_sites=3, seed=1)
    for page in pages[16:]:
        given = scores.of(page.structure)
        assert given.shape == (len(page.content), len(SCORES))
        assert np.abs(given).max() <= MAX_SCORE
        of_content, of_comments = given[:, :2], given[:, 2]
        assert of_content[page.content].mean(0).min() > of_content[~page.content].mean(0).max()
        assert of_comments[page.comment].min() > of_comments[~page.comment].max()


def test_without_comments_none_is_scored_as_one(pages):
    examples = [example_of(replace(page, comment=np.zeros_like(page.comment)), CONFIG) for page in pages[:6]]
    scores = fit_token_scores(examples, least_sites=2, seed=1)
    assert (scores.of(pages[7].structure)[:, 2] == -MAX_SCORE).all()


def test_a_token_met_on_too_few_sites_weighs_nothing(pages):
    examples = [example_of(page, CONFIG) for page in pages[:6]]
    scores = fit_token_scores(examples, least_sites=7, seed=1)
    assert not scores.words.weights.any()
    assert not scores.elements.weights.any()


def test_the_same_seed_gives_the_same_scores(pages):
    examples = [example_of(page, CONFIG) for page in pages[:8]]
    one, same = (fit_token_scores(examples, least_sites=2, seed=3) for _ in range(2))
    assert (one.words.weights == same.words.weights).all()
    assert (one.elements.weights == same.elements.weights).all()


def test_blocks_that_are_all_content_are_scored_so(pages):
    examples = [replace(example_of(page, CONFIG), content=np.ones_like(page.content)) for page in pages]
    scores = fit_token_scores(examples, 1, 1).of(pages[0].structure)
    assert (scores[:, :2] == MAX_SCORE).all()
