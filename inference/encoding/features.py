"""Features of a block and of its page for the default model, as columns of bytes.

The range of each column is mapped onto 0 … 255; values outside are clipped. The groups are those of the
ablation in `docs/explanation/experiments.md`. `setup.py` runs this file for constants of C, and has no
more than the standard library.
"""

from dataclasses import dataclass

LOGARITHM = (0.0, 12.0)
"""Natural logarithm of 1 + a count."""
SHARE = (0.0, 1.0)
"""A share, a ratio or a flag."""
RATIO = (0.0, 3.0)
SIGNED = (-2.0, 2.0)
DEPTH = (0.0, 6.0)
"""Tens of elements."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One column."""

    name: str
    group: str
    range: tuple[float, float]


def _group(group: str, **ranges: tuple[float, float]) -> tuple[Feature, ...]:
    return tuple(Feature(name, group, limits) for name, limits in ranges.items())


FLAGS = (
    "article main nav header footer aside form li cell button hidden pre figure".split()  # noqa: SIM905 -- a table of names
)
"""Elements around a block, by tag or ARIA role."""
SUBTREE_LEVELS = 5


def _subtree(level: int) -> tuple[Feature, ...]:
    return _group(
        "subtrees",
        **{
            f"level_{level}_log_words": LOGARITHM,
            f"level_{level}_link_density": SHARE,
            f"level_{level}_log_blocks": LOGARITHM,
            f"level_{level}_words_share": SHARE,
            f"level_{level}_paragraph_share": SHARE,
            f"level_{level}_log_images": LOGARITHM,
        },
    )


def _repetition(which: str) -> tuple[Feature, ...]:
    return _group(
        "repetition",
        **{
            f"{which}_log_count": LOGARITHM,
            f"{which}_log_words": LOGARITHM,
            f"{which}_link_density": SHARE,
            f"{which}_log_images": LOGARITHM,
            f"{which}_parent_words_share": SHARE,
        },
    )


BLOCK_FEATURES: tuple[Feature, ...] = (
    *_group(
        "text",
        log_words=LOGARITHM,
        log_characters=LOGARITHM,
        words_from_15=SHARE,
        words_below_3=SHARE,
        link_density=SHARE,
        has_link=SHARE,
        tenths_of_characters_per_word=RATIO,
        punctuation_share=SHARE,
        digit_share=SHARE,
        upper_share=SHARE,
        log_commas=LOGARITHM,
        log_sentence_ends=LOGARITHM,
        ends_sentence=SHARE,
        ends_with_colon=SHARE,
        starts_upper=SHARE,
        all_upper=SHARE,
        starts_lower=SHARE,
        has_price=SHARE,
        has_at_sign=SHARE,
        has_separator=SHARE,
        log_leaves=LOGARITHM,
        repeated=SHARE,
        log_repeats=LOGARITHM,
        has_year=SHARE,
    ),
    *_group(
        "position",
        index_share=SHARE,
        words_before_share=SHARE,
        log_index=LOGARITHM,
        log_blocks_after=LOGARITHM,
        distance_from_h1=SIGNED,
        after_h1=SHARE,
    ),
    *_group("ancestors", depth=DEPTH, **{f"in_{name}": SHARE for name in FLAGS}),
    *_group("ancestors", in_heading=SHARE, heading_level=SHARE),
    *_group(
        "declared",
        words_in_title_share=SHARE,
        title_overlap=SHARE,
        og_title_overlap=SHARE,
        description_bigrams_share=SHARE,
        json_ld_bigrams_share=SHARE,
    ),
    *_group(
        "signature",
        signature_log_count=LOGARITHM,
        signature_count_share=SHARE,
        signature_words_share=SHARE,
        signature_log_mean_words=LOGARITHM,
        signature_link_density=SHARE,
    ),
    *(feature for level in range(1, SUBTREE_LEVELS + 1) for feature in _subtree(level)),
    *_group(
        "subtrees",
        largest_part_words_share=SHARE,
        largest_part_link_density=SHARE,
        largest_part_paragraph_share=SHARE,
    ),
    *_repetition("nearest_repeated"),
    *_repetition("most_repeated"),
    *_group(
        "context",
        log_sibling_index=LOGARITHM,
        log_blocks_since_heading=LOGARITHM,
        depth_below_heading=SIGNED,
        log_blocks_since_paragraph=LOGARITHM,
        log_run_repeated_words=LOGARITHM,
        log_run_to_repeat_words=LOGARITHM,
    ),
)

PAGE_FEATURES: tuple[Feature, ...] = _group(
    "page",
    log_blocks=LOGARITHM,
    log_words=LOGARITHM,
    link_density=SHARE,
    paragraph_share=SHARE,
    any_article=SHARE,
    log_articles=LOGARITHM,
    any_main=SHARE,
    has_h1=SHARE,
    json_ld_article=SHARE,
    json_ld_product=SHARE,
    json_ld_forum=SHARE,
    json_ld_list=SHARE,
    og_article=SHARE,
    og_product=SHARE,
    log_forms=LOGARITHM,
    log_code=LOGARITHM,
    log_prices=LOGARITHM,
    question_share=SHARE,
    log_longest_article_words=LOGARITHM,
    longest_block_share=SHARE,
    log_json_ld_words=LOGARITHM,
    log_noscript_words=LOGARITHM,
    log_images=LOGARITHM,
    log_list_items=LOGARITHM,
    log_tables=LOGARITHM,
    repeated_words_share=SHARE,
    hidden_share=SHARE,
    log_controls=LOGARITHM,
    signatures_share=SHARE,
)

LINK_FEATURES: tuple[Feature, ...] = (
    *_group(
        "links",
        link=SHARE,
        link_leaves_site=SHARE,
        link_in_page=SHARE,
        link_to_no_page=SHARE,
        link_has_query=SHARE,
        link_name_has_digits=SHARE,
        link_log_name_words=LOGARITHM,
        link_name_in_text_share=SHARE,
        link_name_in_title_share=SHARE,
        link_log_repeats=LOGARITHM,
        link_log_siblings=LOGARITHM,
        link_log_depth=LOGARITHM,
    ),
    *_group(
        "address",
        link_to_page=SHARE,
        link_above=SHARE,
        link_below=SHARE,
        link_beside=SHARE,
        link_path_shared_share=SHARE,
    ),
)
"""Page that a block's link leads to; 0 for a block without one.

The group `address` is relative to the page's own address, and 0 where that is not known.
"""

ADDRESS_FEATURES: tuple[Feature, ...] = (
    *_group(
        "address",
        address=SHARE,
        address_log_depth=LOGARITHM,
        address_is_root=SHARE,
        address_log_name_words=LOGARITHM,
        address_name_in_title_share=SHARE,
        address_name_has_digits=SHARE,
        address_has_query=SHARE,
        address_has_extension=SHARE,
        links_below_share=SHARE,
        links_beside_share=SHARE,
        address_names_article=SHARE,
        address_names_documentation=SHARE,
        address_names_forum=SHARE,
        address_names_listing=SHARE,
        address_names_product=SHARE,
        address_names_service=SHARE,
    ),
    *_group("links", links_leave_site_share=SHARE),
)
"""The address of a page, and its links as a whole."""
