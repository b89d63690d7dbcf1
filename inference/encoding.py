"""Segmented pages as tensors: BoilerNet's (WWW 2020, section 3.1), and those that the default model reads."""

from collections.abc import Collection
from math import log1p
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dehusk.inference.boilerpipe import boilerpipe_shares
from dehusk.inference.declutter import declutter_shares
from dehusk.inference.features import BLOCK_FEATURES, PAGE_FEATURES
from dehusk.inference.native.contexts import BlockContexts
from dehusk.inference.native.declared import describe_declared
from dehusk.inference.native.hashing import (
    MAX_BLOCK_TOKENS,
    ends_of_blocks,
    fingerprints,
    hash_blocks,
    hash_words,
    structures,
)
from dehusk.inference.native.repeats import find_repeats, redundant
from dehusk.inference.native.scale import columns_of
from dehusk.inference.native.texts import describe_texts, link_densities
from dehusk.inference.tokens import tag_id
from dehusk.inference.web2text.encoding import encode_web2text
from dehusk.schemas.pages import (
    Declarations,
    EncodedPage,
    Encoding,
    SegmentedPage,
    Structure,
    StructureTensors,
    TagCount,
    Web2TextTensors,
)
from dehusk.schemas.tree import DocumentTree

__all__ = ["MAX_BLOCK_TOKENS", "encode"]

_PAGE_COLUMNS = [feature.name for feature in PAGE_FEATURES]
_LOWEST = np.array([feature.range[0] for feature in PAGE_FEATURES])
_STEPS = 255 / np.array([feature.range[1] - feature.range[0] for feature in PAGE_FEATURES])
_IN_CELL = [feature.name for feature in BLOCK_FEATURES].index("in_cell")
_ARTICLE = tag_id("article")
_SHARES = {Encoding.BOILERPIPE: boilerpipe_shares, Encoding.DECLUTTER: declutter_shares}

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
    repeat: npt.NDArray[np.int32]
    """Shape [T]: `EncodedPage.repeat`."""
    repeating: Counts
    """Shape [T]: the words of the run of blocks with which each repeats earlier ones."""
    repeated: Counts
    """Shape [T]: the words of the run of blocks with which each is repeated."""
    hidden: npt.NDArray[np.bool_]


def encode(page: SegmentedPage, encodings: Collection[Encoding] = ()) -> EncodedPage:
    """The tensors of a page; of one without structure, those that texts and paths suffice for.

    The encodings that are asked for are made of `page.tree`.

    Raises:
        ValueError: the page came without it.
    """
    ids, block_lengths, words, counts = hash_blocks(page.paths, page.texts)
    density, linked_words = link_densities(page.texts, page.linked, counts)
    hidden = np.frombuffer(bytearray(page.hidden), np.bool_)
    blocks = _Blocks(words, counts, density, *find_repeats(words, counts), hidden)
    tensors = None if page.structure is None else _tensors(page, page.structure, blocks)
    return EncodedPage(
        ids=ids,
        block_lengths=block_lengths,
        words=counts,
        linked_words=linked_words,
        fingerprints=fingerprints(page.texts),
        hidden=hidden,
        repeat=_repeats(blocks, tensors),
        structure=tensors,
        structures=_structures(page),
        alike=None if tensors is None else tensors.alike,
        web2text=_web2text(page, blocks) if Encoding.WEB2TEXT in encodings else None,
        **_of_document(page, encodings),
    )


def _web2text(page: SegmentedPage, blocks: _Blocks) -> Web2TextTensors:
    """What Web2Text reads."""
    return encode_web2text(page, _document(page, Encoding.WEB2TEXT), blocks.words, blocks.counts)


def _of_document(page: SegmentedPage, encodings: Collection[Encoding]) -> dict[str, npt.NDArray[np.float32]]:
    """Those of the fields that are shares of the page's blocks, made of the whole document."""
    wanted = [encoding for encoding in encodings if encoding in _SHARES]
    return {name: _SHARES[name](_document(page, name), len(page)) for name in wanted}


def _document(page: SegmentedPage, encoding: Encoding) -> DocumentTree:
    """The document that an encoding is made of."""
    if page.tree is None:
        raise ValueError(f"{encoding} is made of the whole document, which this page came without")
    return page.tree


def _structures(page: SegmentedPage) -> npt.NDArray[np.uint64]:
    around = page.structure
    if around is None:
        return fingerprints(page.paths)
    return structures(around.parents, around.tokens, around.token_counts, around.elements)


def _repeats(blocks: _Blocks, tensors: StructureTensors | None) -> npt.NDArray[np.int32]:
    """`EncodedPage.repeat`, as far as the kinds of blocks are known."""
    alike, features = (None, None) if tensors is None else (tensors.alike, tensors.features)
    return redundant(blocks.repeat, blocks.repeating, alike, features, _IN_CELL)


def _tensors(page: SegmentedPage, structure: Structure, blocks: _Blocks) -> StructureTensors:
    word_ids, word_lengths = ends_of_blocks(blocks.words, blocks.counts)
    features = np.zeros((len(page), len(BLOCK_FEATURES)), np.uint8)
    prices, questions = describe_texts(
        page.texts, blocks.counts, blocks.density, blocks.copies, structure.leaves, features
    )
    json_ld_words = _describe_declared(page.title, structure.declared, blocks, features)
    contexts = BlockContexts(blocks.counts, blocks.density, structure)
    hidden = blocks.hidden.view(np.uint8)
    return StructureTensors(
        word_ids=word_ids,
        word_lengths=word_lengths,
        heading=contexts.describe(hidden, blocks.repeating, blocks.repeated, blocks.repeat, features),
        element=structure.elements + 1,
        alike=contexts.first_alike(),
        parent=structure.parents + 1,
        element_tokens=structure.tokens,
        element_token_lengths=structure.token_counts,
        features=features,
        page_features=_page_features(structure, contexts, prices, questions, json_ld_words),
    )


def _describe_declared(
    title: str, declared: Declarations, blocks: _Blocks, features: npt.NDArray[np.uint8]
) -> int:
    """Write how much of what is declared each block has; the words of JSON-LD."""
    json_ld = declared.json_ld.replace("\\n", " ")
    words, counts = hash_words(
        (title, declared.og_title, declared.og_description, declared.description, json_ld)
    )
    describe_declared(blocks.words, blocks.counts, words, counts, features)
    return int(counts[-1])


def _page_features(
    structure: Structure, contexts: BlockContexts, prices: int, questions: int, json_ld_words: int
) -> npt.NDArray[np.uint8]:
    """The columns of `PAGE_FEATURES`."""
    blocks = len(structure.elements)
    shares = max(blocks, 1)
    tags = structure.counts.tolist()
    article = contexts.longest_of(_ARTICLE, structure.tokens, structure.token_counts)
    values = {
        "log_blocks": log1p(blocks),
        "log_words": log1p(contexts.total),
        "link_density": contexts.linked / contexts.total,
        "paragraph_share": contexts.paragraphs / shares,
        "any_article": tags[TagCount.ARTICLES] > 0,
        "log_articles": log1p(tags[TagCount.ARTICLES]),
        "any_main": tags[TagCount.MAINS] > 0,
        "has_h1": contexts.first_heading >= 0,
        "log_forms": log1p(tags[TagCount.FORMS]),
        "log_code": log1p(tags[TagCount.CODES]),
        "log_prices": log1p(prices),
        "question_share": questions / shares,
        "log_longest_article_words": log1p(article),
        "longest_block_share": contexts.longest / contexts.total,
        "log_json_ld_words": log1p(json_ld_words),
        "log_noscript_words": log1p(structure.declared.noscript_words),
        "log_images": log1p(tags[TagCount.IMAGES]),
        "log_list_items": log1p(tags[TagCount.ITEMS]),
        "log_tables": log1p(tags[TagCount.TABLES]),
        "repeated_words_share": contexts.repeated / contexts.total,
        "hidden_share": contexts.hidden / shares,
        "log_controls": log1p(tags[TagCount.CONTROLS]),
        "signatures_share": contexts.groups / shares,
        **_kinds(structure.declared),
    }
    return columns_of([values[name] for name in _PAGE_COLUMNS], _LOWEST, _STEPS)


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
