"""Pages with labels, encoded as a worker encodes them, and altered ones."""

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.page_labels import html_hash
from dehusk.schemas.pages import EncodedPage, Encoding, SegmentedPage, StructureTensors, needs_tree
from dehusk.streams.sources.encoding import encode_text
from dehusk.training.arrays import Bools
from dehusk.training.pages.alignment import content_blocks
from dehusk.training.pages.altering import (
    SCRIPTS,
    labels_by_text,
    renamed,
    shortened,
    transliterated,
    with_few_comments,
)
from dehusk.training.pages.gold import GoldPage, each_labeled, read_gold
from dehusk.training.pages.labels import (
    DROPPED,
    REPAIRED,
    TAUGHT,
    ByHand,
    Labels,
    labels_by_hand,
    listed_comments,
    read_labels,
)
from dehusk.training.runs import Preparation, RunConfig, read_pages, write_pages
from dehusk.training.scores import Words, block_words, kept_words, score_words, word_f1

RENAMED = "renamed"
"""Way a page was altered: its comments have another name."""
_MIN_WORDS = 15
"""Fewest words of content of an altered page."""
_MIN_COMMENTS = 2
"""Least blocks of comments of a page that is altered."""
_SCRIPTS_EVERY = 4
"""One page in this many is also scored in other scripts."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedPage:
    """An encoded page, its labels, and the gold text that it is scored by."""

    id: str
    """Key of the page as it was given, and how it was altered."""
    collection: str
    """Name of the file that it is in."""
    site: str
    page_type: str
    """One of PAGE_KINDS; empty where it is not known."""
    stripped: bool
    words: Words
    gold: tuple[str, ...]
    """Words of the gold text; none where `has_gold` is not set."""
    has_gold: bool
    """True if a gold text says what its content is."""
    repaired: bool
    """True if the labels were repaired by hand."""
    encoded: EncodedPage
    content: Bools
    comment: Bools
    """User comments, which are not content."""
    uncertain: Bools
    """Doubtful labels."""
    reliable: bool
    """True if the page can be learned from."""
    scripts: Mapping[str, EncodedPage]
    """Page in other scripts, by their names; of a part of the pages only."""
    altered: str = ""
    """Way it was made of another page: `shortened`, to less content than comments, or `renamed`, its comments
    under another name."""

    @property
    def structure(self) -> StructureTensors:
        """Tensors of the page that the model reads."""
        if self.encoded.structure is None:
            raise ValueError(f"page {self.id} was encoded without its elements")
        return self.encoded.structure

    @property
    def is_scored(self) -> bool:
        """False where people found that its content is not in its blocks, or cannot be told."""
        return self.has_gold and (self.reliable or not self.repaired)

    @property
    def best_gold(self) -> Sequence[str]:
        """Words of the gold text, or of the repaired labels."""
        return self.labeled_words if self.repaired else self.gold

    @property
    def labeled_words(self) -> list[str]:
        """Words of the blocks that are labeled content."""
        return kept_words(self.words, self.content)


def prepare_pages(
    options: Preparation,
    config: RunConfig,
    *,
    content_share: float,
    least_oracle: float,
    encodings: Collection[Encoding] = (),
) -> list[Broken]:
    """Label, encode and write the pages of the files; return those that cannot be segmented.

    Those that have labels in a file of `dehusk label` take these; only without one must all have a gold text.
    With `encodings`, pages are encoded for another model, and none are altered or written in other scripts.

    Raises:
        ConfigurationError: labels do not fit their pages; nothing is written.
    """
    by_hand = labels_by_hand(options.labels, options.files)
    broken: list[Broken] = []
    label = partial(
        _label,
        repaired=read_labels(REPAIRED),
        taught=read_labels(TAUGHT),
        by_hand=by_hand,
        content_share=content_share,
        least_oracle=least_oracle,
        encodings=encodings,
    )
    given = read_gold(options.files, needs_text=options.labels is None)
    pages = each_labeled(given, label, options.processes, broken)
    write_pages(options, config, chain.from_iterable(pages))
    return broken


def prepared_pages(directory: Path, config: RunConfig) -> Iterator[PreparedPage]:
    """Read the pages that `prepare_pages` wrote for a run of this configuration."""
    return read_pages(directory, config)


def _label(
    page: GoldPage,
    *,
    repaired: Mapping[str, Labels],
    taught: Mapping[str, Labels],
    by_hand: ByHand,
    content_share: float,
    least_oracle: float,
    encodings: Collection[Encoding],
) -> list[PreparedPage]:
    """Return the labeled page and those that are made of it."""
    segmented = segment(page.utf8, url=page.url, with_tree=needs_tree(encodings))
    words = block_words(segmented.texts)
    gold = tuple(score_words(page.text or ""))
    given = by_hand.get(page.id)
    if given is not None and given.html_hash != html_hash(page.utf8):
        given = None  # the labels are of another page that has the same id
    labels = repaired.get(page.key) or (None if page.text is not None else taught.get(page.key, DROPPED))
    uncertain = np.zeros(len(words), np.bool_)
    if given is not None:
        content = np.array(given.labels, np.bool_)
        gold = gold if page.text is not None else tuple(kept_words(words, content))
        reliable = len(content) > 0
    elif labels is None:
        content = content_blocks(words, gold, content_share)
        oracle = word_f1(kept_words(words, content), gold)
        reliable = bool(content.any()) and oracle >= least_oracle
    else:
        content = labels.content(page.key, segmented.texts)
        uncertain = labels.doubted(page.key, segmented.texts)
        reliable = labels != DROPPED
    whole = PreparedPage(
        id=page.key,
        collection=page.collection,
        site=page.site,
        page_type=page.page_kind,
        stripped=page.stripped,
        words=words,
        gold=gold,
        has_gold=page.text is not None or given is not None,
        repaired=page.key in repaired or given is not None,
        encoded=encode(segmented, encodings),
        content=content,
        comment=_comments(page, segmented, words, content_share) & ~content,
        uncertain=uncertain,
        reliable=reliable,
        scripts={} if encodings else _in_scripts(page, len(words)),
    )
    return [whole] if encodings else [whole, *_altered(whole, page, segmented.texts)]


def _altered(page: PreparedPage, given: GoldPage, texts: Sequence[str]) -> Iterator[PreparedPage]:
    """Yield the page with little content under its comments, and with comments of another name."""
    if not page.reliable or page.comment.sum() < _MIN_COMMENTS:
        return
    choice, html = zlib.crc32(given.id.encode()), given.html
    short = shortened(given.id, html, texts, page.content, page.comment)
    if short is not None:
        made = _relabeled(page, texts, short, given.url, "shortened")
        if made.encoded.words[made.content].sum() < made.encoded.words[made.comment].sum():
            yield from _worthwhile(made)
    other = short if short is not None and choice & 1 else html
    if choice & 2:
        other = with_few_comments(given.id, other, texts, page.comment)
    called = renamed(given.id, other)
    if called is not None:
        yield from _worthwhile(_relabeled(page, texts, called, given.url, RENAMED))


def _worthwhile(page: PreparedPage) -> Iterator[PreparedPage]:
    if page.encoded.words[page.content].sum() >= _MIN_WORDS and page.comment.any():
        yield page


def _relabeled(page: PreparedPage, texts: Sequence[str], html: str, url: str, altered: str) -> PreparedPage:
    """Return a page made of another one, its labels by the texts of the blocks."""
    segmented = segment(encode_text(html), url=url)
    words = block_words(segmented.texts)
    content, comment, uncertain = (
        labels_by_text(texts, labels, segmented.texts)
        for labels in (page.content, page.comment, page.uncertain)
    )
    return replace(
        page,
        id=f"{page.id} {altered}",
        words=words,
        gold=tuple(kept_words(words, content)),
        has_gold=True,
        encoded=encode(segmented),
        content=content,
        comment=comment & ~content,
        uncertain=uncertain,
        scripts={},
        altered=altered,
    )


def _comments(
    page: GoldPage, segmented: SegmentedPage, words: Sequence[Sequence[str]], content_share: float
) -> Bools:
    """Return the blocks of the known comments, else those in a list of comments."""
    if page.comments is not None:
        return content_blocks(words, score_words(page.comments), content_share)
    return listed_comments(page, segmented)


def _in_scripts(page: GoldPage, blocks: int) -> dict[str, EncodedPage]:
    """Return the page in the other scripts in which it keeps its blocks; a part of the pages only."""
    if not page.page_type or zlib.crc32(page.id.encode()) % _SCRIPTS_EVERY:
        return {}
    pages = {
        name: segment(encode_text(transliterated(page.html, script)), url=page.url)
        for name, script in SCRIPTS.items()
    }
    return {name: encode(each) for name, each in pages.items() if len(each) == blocks}
