"""The features of Web2Text: 128 of each block (table 3 of the paper), 25 of each pair of blocks (§3.3).

Columns are in the paper's order; `docs/explanation/web2text.md` says how its numbering is read. Values are
raw: binary ones 0 or 1, the others clipped where the paper clips them. The model standardises them.
"""

from typing import NamedTuple


class Column(NamedTuple):
    """One feature."""

    name: str
    is_binary: bool = False


NODE_TAGS = (
    "td div p tr table body ul span li blockquote b small a ol ul i form dl strong pre".split()  # noqa: SIM905 -- a table of names
)
"""Tags of the parent node of a block; the paper lists, and counts, `ul` twice."""
LEAF_TAGS = (
    "a p td b li span i tr div strong em h3 h2 table h4 small sup h1 blockquote".split()  # noqa: SIM905 -- a table of names
)
"""Tags of the block itself."""

_LEAF = (
    Column("has_duplicate", is_binary=True),
    Column("has_10_duplicates", is_binary=True),
    Column("same_class_path_ratio"),
    Column("has_word", is_binary=True),
    Column("log_words"),
)
_TEXT = (
    Column("average_word_length"),
    Column("has_stopword", is_binary=True),
    Column("stopword_ratio"),
    Column("log_characters"),
    Column("log_punctuation_ratio"),
    Column("has_numeric", is_binary=True),
    Column("numeric_ratio"),
    Column("log_sentence_length"),
    Column("ends_with_punctuation", is_binary=True),
    Column("ends_with_question_mark", is_binary=True),
    Column("has_copyright", is_binary=True),
    Column("has_email", is_binary=True),
    Column("has_url", is_binary=True),
    Column("has_year", is_binary=True),
    Column("capital_ratio"),
    Column("capital_ratio_2"),
    Column("capital_ratio_3"),
)
"""b6-b22, of a block or of a node."""
_PLACE = (
    Column("has_punctuation", is_binary=True),
    Column("punctuation"),
    Column("has_sentences", is_binary=True),
    Column("position"),
    Column("position_2"),
    Column("has_parent", is_binary=True),
)
_NODE = (
    Column("body_share"),
    Column("link_density"),
    *_TEXT,
    Column("has_form", is_binary=True),
)
"""b29-b48, of a node."""


def _of(which: str, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    return tuple(Column(f"{which}_{column.name}", column.is_binary) for column in columns)


def _tags(which: str, tags: list[str]) -> tuple[Column, ...]:
    return tuple(Column(f"{which}_{tag}", is_binary=True) for tag in tags)


BLOCK_COLUMNS = (
    *_LEAF,
    *_TEXT,
    *_PLACE,
    *_of("parent", _NODE),
    *_tags("parent_is", NODE_TAGS),
    Column("has_grandparent", is_binary=True),
    *_of("grandparent", _NODE),
    *_of("root", _NODE),
    *_tags("is", LEAF_TAGS),
)
"""b1-b128."""
DISTANCES = 2, 3, 4
"""Distances in hops between consecutive blocks; larger ones share one column."""
ANCESTOR_COLUMNS = (Column("line_break", is_binary=True), *_of("ancestor", _NODE))
"""Features of a pair of blocks but for their distance: the line break, and those of their common ancestor."""
EDGE_COLUMNS = (
    *(Column(f"distance_{hops}", is_binary=True) for hops in DISTANCES),
    Column("distance_more", is_binary=True),
    *ANCESTOR_COLUMNS,
)
"""All 25 features of a pair."""
