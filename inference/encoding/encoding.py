"""Segmented pages as tensors: of the default model, and those that are read now and then."""

from collections.abc import Callable, Collection
from math import log1p
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.addresses import name_kinds
from dehusk.inference.encoding.boilerpipe import boilerpipe_shares
from dehusk.inference.encoding.declutter import declutter_shares
from dehusk.inference.encoding.features import BLOCK_FEATURES, PAGE_FEATURES
from dehusk.inference.encoding.tokens import tag_id
from dehusk.inference.encoding.web2text.encoding import encode_web2text
from dehusk.inference.metadata.titles import title_keys
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
from dehusk.inference.native.link_lists import link_lists
from dehusk.inference.native.links import describe_links
from dehusk.inference.native.repeats import find_repeats, redundant
from dehusk.inference.native.scale import columns_of
from dehusk.inference.native.texts import describe_texts, link_densities
from dehusk.schemas.markup import DocumentTree
from dehusk.schemas.pages import (
    OF_TREE,
    Declarations,
    ElementFlag,
    EncodedPage,
    Encoding,
    SegmentedPage,
    SiteKeys,
    Structure,
    StructureTensors,
    TagCount,
    TokenTensors,
)

__all__ = ["MAX_BLOCK_TOKENS", "encode", "site_keys", "tokens_of"]

_PAGE_COLUMNS = [feature.name for feature in PAGE_FEATURES]
_LOWEST = np.array([feature.range[0] for feature in PAGE_FEATURES])
_STEPS = 255 / np.array([feature.range[1] - feature.range[0] for feature in PAGE_FEATURES])
_IN_CELL = [feature.name for feature in BLOCK_FEATURES].index("in_cell")
_ARTICLE = tag_id("article")

Counts = npt.NDArray[np.uint32]


class _Blocks(NamedTuple):
    """Columns of the texts of a page's T blocks with W words."""

    words: Counts
    """Shape [W]: hashed words."""
    counts: Counts
    """Shape [T]: number of `words` of each block."""
    density: npt.NDArray[np.float64]
    """Shape [T]: linked share of each block's characters."""
    copies: npt.NDArray[np.int32]
    """Shape [T]: number of blocks with the same words."""
    repeat: npt.NDArray[np.int32]
    """Shape [T]: `EncodedPage.repeat`."""
    repeating: Counts
    """Shape [T]: words of the run of blocks that contains each block and repeats earlier ones."""
    repeated: Counts
    """Shape [T]: words of the run of blocks that contains each block and is repeated."""
    hidden: npt.NDArray[np.bool_]


def encode(page: SegmentedPage, encodings: Collection[Encoding] = ()) -> EncodedPage:
    """Return the tensors of a page; without its structure, those that texts and paths suffice for.

    Raises:
        ValueError: an encoding is asked for that is made of `page.tree`, and the page came without it.
    """
    words, counts = hash_words(page.texts)
    density, linked_words = link_densities(page.texts, page.linked, counts)
    hidden = np.frombuffer(bytearray(page.hidden), np.bool_)
    blocks = _Blocks(words, counts, density, *find_repeats(words, counts), hidden)
    tensors = None if page.structure is None else _tensors(page, page.structure, blocks)
    return EncodedPage(
        words=counts,
        linked_words=linked_words,
        hidden=hidden,
        repeat=_repeats(page, blocks, tensors),
        structure=tensors,
        link_lists=link_lists(page.texts, page.paths, page.linked, page.hidden),
        alike=None if tensors is None else tensors.alike,
        headings=None if tensors is None else tensors.heading == np.arange(1, len(page) + 1),
        **{encoding: _ENCODERS[encoding](page, blocks) for encoding in encodings},
    )


def _tree(page: SegmentedPage) -> DocumentTree:
    if page.tree is None:
        encodings = ", ".join(sorted(OF_TREE))
        raise ValueError(f"{encodings} are made of the whole document, which this page came without")
    return page.tree


def tokens_of(page: SegmentedPage) -> TokenTensors:
    """Return the tokens of a page (BoilerNet, WWW 2020, section 3.1)."""
    return TokenTensors(*hash_blocks(page.paths, page.texts))


def site_keys(page: SegmentedPage) -> SiteKeys:
    """Return the keys by which a page is counted for its site."""
    structure = page.structure
    if structure is None:
        around = fingerprints(page.paths)
    else:
        around = structures(structure.parents, structure.tokens, structure.token_counts, structure.elements)
    return SiteKeys(fingerprints(page.texts), around, title_keys(page.title))


_ENCODERS: dict[Encoding, Callable[[SegmentedPage, _Blocks], Any]] = {
    Encoding.TOKENS: lambda page, _: tokens_of(page),
    Encoding.BOILERPIPE: lambda page, _: boilerpipe_shares(_tree(page), len(page)),
    Encoding.DECLUTTER: lambda page, _: declutter_shares(_tree(page), len(page)),
    Encoding.WEB2TEXT: lambda page, blocks: encode_web2text(page, _tree(page), blocks.words, blocks.counts),
    Encoding.SITE_KEYS: lambda page, _: site_keys(page),
}


def _repeats(page: SegmentedPage, blocks: _Blocks, tensors: StructureTensors | None) -> npt.NDArray[np.int32]:
    """Return `EncodedPage.repeat`, as far as the kinds of blocks are known."""
    alike, features, code = None, None, None
    if tensors is not None and page.structure is not None:
        alike, features = tensors.alike, tensors.features
        code = _shown_code(page.structure, blocks)
    return redundant(blocks.repeat, blocks.repeating, alike, features, _IN_CELL, blocks.counts, code)


def _shown_code(structure: Structure, blocks: _Blocks) -> npt.NDArray[np.uint8] | None:
    """Return 1 for code that is shown, shape [T]; None where a page repeats nothing, as most do."""
    if structure.counts[TagCount.CODES] == 0 or (blocks.repeat < 0).all():
        return None
    is_code = structure.flags[structure.elements] & ElementFlag.CODE != 0
    shown: npt.NDArray[np.uint8] = (is_code & ~blocks.hidden).view(np.uint8)
    return shown


def _tensors(page: SegmentedPage, structure: Structure, blocks: _Blocks) -> StructureTensors:
    word_ids, word_lengths = ends_of_blocks(blocks.words, blocks.counts)
    features = np.zeros((len(page), len(BLOCK_FEATURES)), np.uint8)
    prices, questions = describe_texts(
        page.texts, blocks.counts, blocks.density, blocks.copies, structure.leaves, features
    )
    json_ld_words = _describe_declared(page.title, structure.declared, blocks, features)
    contexts = BlockContexts(blocks.counts, blocks.density, structure)
    hidden = blocks.hidden.view(np.uint8)
    links, address = describe_links(
        structure.links, structure.url, structure.base, page.title, blocks.words, blocks.counts
    )
    name_kinds(structure.url, address)
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
        links=links,
        address=address,
    )


def _describe_declared(
    title: str, declared: Declarations, blocks: _Blocks, features: npt.NDArray[np.uint8]
) -> int:
    """Write the share of each block in the declared texts, and return the number of words of JSON-LD."""
    json_ld = declared.json_ld.replace("\\n", " ")
    words, counts = hash_words(
        (title, declared.og_title, declared.og_description, declared.description, json_ld)
    )
    describe_declared(blocks.words, blocks.counts, words, counts, features)
    return int(counts[-1])


def _page_features(
    structure: Structure, contexts: BlockContexts, prices: int, questions: int, json_ld_words: int
) -> npt.NDArray[np.uint8]:
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
    """Return the flags for the types that a page declares itself to be."""
    data = declared.json_ld.lower()
    return {
        "json_ld_article": any(name in data for name in ('"article"', "blogposting", "newsarticle")),
        "json_ld_product": '"product"' in data,
        "json_ld_forum": "discussionforum" in data or "qapage" in data,
        "json_ld_list": "itemlist" in data or "collectionpage" in data,
        "og_article": "article" in declared.og_type,
        "og_product": "product" in declared.og_type,
    }
