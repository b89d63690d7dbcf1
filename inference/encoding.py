"""Segmented pages as tensors: BoilerNet's (WWW 2020, section 3.1), and those that the default model reads."""

from math import log1p
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from inference.features import BLOCK_FEATURES, PAGE_FEATURES
from inference.native.declared import describe_declared
from inference.native.hashing import MAX_BLOCK_TOKENS, ends_of_blocks, fingerprints, hash_words, join_tags
from inference.native.places import Places
from inference.native.repeats import find_repeats
from inference.native.texts import describe_texts, link_densities
from inference.tokens import tag_id
from schemas.pages import Declarations, EncodedPage, SegmentedPage, Structure, StructureTensors, TagCount

__all__ = ["MAX_BLOCK_TOKENS", "encode"]

_REPEATED_WORDS = 12
"""A run of fewer repeated words may be chance."""
_LOWEST, _HIGHEST = np.array([feature.range for feature in PAGE_FEATURES]).T
_ARTICLE = tag_id("article")

Counts = npt.NDArray[np.uint32]


class _Blocks(NamedTuple):
    """What is known of a page's blocks by their texts, T of them with W words."""

    words: Counts
    """Shape [W]: hashed."""
    counts: Counts
    """Shape [T]: how many of `words` belong to each block."""
    density: npt.NDArray[np.float64]
    """Shape [T]: the share of each block's characters that are linked."""
    copies: npt.NDArray[np.int32]
    """Shape [T]: how many blocks have the same words."""
    repeating: Counts
    """Shape [T]: the words of the run of blocks with which each repeats earlier ones."""
    repeated: Counts
    """Shape [T]: the words of the run of blocks with which each is repeated."""


def encode(page: SegmentedPage) -> EncodedPage:
    """The tensors of a page; of one without structure, those that texts and paths suffice for."""
    words, counts = hash_words(page.texts)
    ids, block_lengths = join_tags(page.paths, words, counts)
    copies, earlier, repeating, repeated = find_repeats(words, counts)
    density, linked_words = link_densities(page.texts, page.linked, counts)
    blocks = _Blocks(words, counts, density, copies, repeating, repeated)
    return EncodedPage(
        ids=ids,
        block_lengths=block_lengths,
        words=counts,
        linked_words=linked_words,
        fingerprints=fingerprints(page.texts),
        hidden=np.array(page.hidden, np.bool_),
        repeat=np.where(repeating >= _REPEATED_WORDS, earlier, np.int32(-1)),
        structure=None if page.structure is None else _tensors(page, page.structure, blocks),
    )


def _tensors(page: SegmentedPage, structure: Structure, blocks: _Blocks) -> StructureTensors:
    word_ids, word_lengths = ends_of_blocks(blocks.words, blocks.counts)
    declared = structure.declared
    declared_words, declared_counts = hash_words(
        (
            page.title,
            declared.og_title,
            declared.og_description,
            declared.description,
            declared.json_ld.replace("\\n", " "),
        )
    )
    features = np.zeros((len(page), len(BLOCK_FEATURES)), np.uint8)
    prices, questions = describe_texts(
        page.texts, blocks.counts, blocks.density, blocks.copies, structure.leaves, features
    )
    describe_declared(blocks.words, blocks.counts, declared_words, declared_counts, features)
    places = Places(blocks.counts, blocks.density, structure)
    hidden = np.array(page.hidden, np.uint8)
    used = structure.tokens != 0
    return StructureTensors(
        word_ids=word_ids,
        word_lengths=word_lengths,
        heading=places.describe(hidden, blocks.repeating, blocks.repeated, features),
        element=structure.elements + 1,
        parent=structure.parents + 1,
        element_tokens=structure.tokens[used],
        element_token_lengths=used.sum(axis=1, dtype=np.uint8),
        features=features,
        page_features=_page_features(
            structure,
            blocks,
            places,
            hidden=hidden,
            prices=prices,
            questions=questions,
            json_ld_words=int(declared_counts[-1]),
        ),
    )


def _page_features(
    structure: Structure,
    blocks: _Blocks,
    places: Places,
    *,
    hidden: npt.NDArray[np.uint8],
    prices: int,
    questions: int,
    json_ld_words: int,
) -> npt.NDArray[np.uint8]:
    """The columns of `PAGE_FEATURES`."""
    count = max(len(blocks.counts), 1)
    tags = dict(zip(TagCount, structure.counts.tolist(), strict=True))
    repeated = int(blocks.counts[blocks.repeating >= _REPEATED_WORDS].sum())
    values = {
        "log_blocks": log1p(len(blocks.counts)),
        "log_words": log1p(places.total),
        "link_density": places.linked / places.total,
        "paragraph_share": places.paragraphs / count,
        "any_article": tags[TagCount.ARTICLES] > 0,
        "log_articles": log1p(tags[TagCount.ARTICLES]),
        "any_main": tags[TagCount.MAINS] > 0,
        "has_h1": places.first_heading >= 0,
        "log_forms": log1p(tags[TagCount.FORMS]),
        "log_code": log1p(tags[TagCount.CODES]),
        "log_prices": log1p(prices),
        "question_share": questions / count,
        "log_longest_article_words": log1p(places.longest(structure.tokens, _ARTICLE)),
        "longest_block_share": int(blocks.counts.max(initial=0)) / places.total,
        "log_json_ld_words": log1p(json_ld_words),
        "log_noscript_words": log1p(structure.declared.noscript_words),
        "log_images": log1p(tags[TagCount.IMAGES]),
        "log_list_items": log1p(tags[TagCount.ITEMS]),
        "log_tables": log1p(tags[TagCount.TABLES]),
        "repeated_words_share": repeated / places.total,
        "hidden_share": int(hidden.sum()) / count,
        "log_controls": log1p(tags[TagCount.CONTROLS]),
        "signatures_share": places.groups / count,
        **_kinds(structure.declared),
    }
    scaled = (np.array([values[feature.name] for feature in PAGE_FEATURES]) - _LOWEST) / (_HIGHEST - _LOWEST)
    quantised: npt.NDArray[np.uint8] = np.rint(np.clip(scaled, 0, 1) * 255).astype(np.uint8)
    return quantised


def _kinds(declared: Declarations) -> dict[str, bool]:
    """What a page says that it is."""
    data = declared.json_ld.lower()
    return {
        "json_ld_article": any(name in data for name in ('"article"', "blogposting", "newsarticle")),
        "json_ld_product": '"product"' in data,
        "json_ld_forum": "discussionforum" in data or "qapage" in data,
        "json_ld_list": "itemlist" in data or "collectionpage" in data,
        "og_article": "article" in declared.og_type,
        "og_product": "product" in declared.og_type,
    }
