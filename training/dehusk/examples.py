"""Labeled pages, encoded as a worker encodes them, and altered ones."""

import zlib
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, SegmentedPage, StructureTensors
from dehusk.streams.sources.encoding import encode_text
from dehusk.training.arrays import Bools, Floats
from dehusk.training.dehusk.config import DehuskConfig, fold_of
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
from dehusk.training.runs import Preparation, left_by, read_records, write_records, write_sources
from dehusk.training.scores import Words, block_words, kept_words, score_words, word_f1

_PAGES = "pages.pickle"
_MIN_WORDS = 15
"""Fewest words of content of an altered page."""
_RENAMED = "renamed"
_MIN_COMMENTS = 2
"""Least blocks of comments of a page that is altered."""
_SCRIPTS_EVERY = 4
"""One page in this many is also scored in other scripts."""


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """An encoded page of T blocks and its labels, as the model learns from it."""

    site: str
    collection: str
    page_type: str
    """One of PAGE_KINDS; empty where it is not known."""
    structure: StructureTensors
    words: npt.NDArray[np.uint32]
    """Shape [T]: words per block."""
    content: Bools
    """Shape [T]: the blocks that are content."""
    comment: Bools
    """Shape [T]: the blocks that are user comments, and not content."""
    certainty: Floats
    """Shape [T]: weight of the labels of each block, up to 1."""
    importance: float = 1.0
    """Weight of the page relative to others."""
    in_second_pass: bool = True
    """True if the second pass learns from the page, too."""

    def __len__(self) -> int:
        return len(self.content)

    @property
    def weights(self) -> Floats:
        """Weight of each block, shape [T]: the root of its words, less for uncertain labels.

        It sums to the importance of the page.
        """
        roots = np.sqrt(self.words + 1) * self.certainty
        weights: Floats = (roots * (self.importance / roots.sum())).astype(np.float32)
        return weights


def with_repeats(content: Bools, repeat: npt.NDArray[np.int32]) -> Bools:
    """Return the labels, a block and the one that it repeats sharing theirs: the gold has only one."""
    shared = content.copy()
    for block in np.flatnonzero(repeat >= 0):
        earlier = repeat[block]
        shared[block] = shared[earlier] = shared[block] or shared[earlier]
    return shared


@dataclass(frozen=True, slots=True, eq=False)
class DehuskPage:
    """An encoded page, its labels, and the gold text that it is scored by."""

    id: str
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

    def example(self, config: DehuskConfig) -> Example:
        """Return the page as the model learns from it."""
        content = with_repeats(self.content, self.encoded.repeat)
        return Example(
            site=self.site,
            collection=self.collection,
            page_type=self.page_type,
            structure=self.structure,
            words=self.encoded.words,
            content=content,
            comment=self.comment & ~content,
            certainty=np.where(self.uncertain, config.trainer.doubtful, 1).astype(np.float32),
            importance=self._importance(config),
            in_second_pass=self.altered != _RENAMED,
        )

    def _importance(self, config: DehuskConfig) -> float:
        of_page = config.importance.get(self.collection, 1.0)
        return of_page * config.trainer.altered if self.altered else of_page

    @property
    def structure(self) -> StructureTensors:
        """Tensors of the page that the model reads."""
        if self.encoded.structure is None:
            raise ValueError(f"page {self.id} was encoded without its elements")
        return self.encoded.structure

    @property
    def best_gold(self) -> Sequence[str]:
        """Words of the gold text, or of the repaired labels."""
        return self.labeled_words if self.repaired else self.gold

    @property
    def labeled_words(self) -> list[str]:
        """Words of the blocks that are labeled content."""
        return kept_words(self.words, self.content)


PartOf = Callable[[DehuskPage | Example], Hashable]
"""Function that returns the part that a page belongs to."""


def by_site(folds: int) -> PartOf:
    """Return so many parts, the pages of a site in one."""
    return lambda page: name_of_part(page.site, folds)


def name_of_part(site: str, folds: int) -> str:
    """Return the name of the part that a site is in, of so many."""
    return f"part {fold_of(site, folds) + 1} of {folds}"


def by_collection(page: DehuskPage | Example) -> Hashable:
    """Return a part for each collection; its halves, such as `-train` and `-val`, are one."""
    return page.collection.partition("-")[0]


def parts_of(pages: Iterable[DehuskPage | Example], part_of: PartOf) -> list[Hashable]:
    """Return the parts that there are, in order of their names."""
    return sorted({part_of(page) for page in pages}, key=str)


def learned_from(pages: Iterable[DehuskPage], config: DehuskConfig) -> list[DehuskPage]:
    """Return the reliable pages, at most so many of one site, and as many that were altered alike."""
    taken: Counter[tuple[str, str]] = Counter()
    learned: list[DehuskPage] = []
    for page in pages:
        of_site = (page.site, page.altered)
        if page.reliable and taken[of_site] < config.trainer.most_of_a_site:
            taken[of_site] += 1
            learned.append(page)
    return learned


def prepare_pages(
    options: Preparation, content_share: float, least_oracle: float, encodings: Collection[Encoding] = ()
) -> list[Broken]:
    """Label, encode and write the pages of the files; return those that cannot be segmented.

    Those that have labels in a file of `dehusk label` take these; only without one must all have a gold text.
    With `encodings`, pages are encoded for another model, and none are altered or written in other scripts.

    Raises:
        ConfigurationError: labels do not fit their pages; nothing is written.
    """
    by_hand = labels_by_hand(options.labels, options.files)
    options.directory.mkdir(parents=True, exist_ok=True)
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
    write_records(options.directory / _PAGES, chain.from_iterable(pages))
    write_sources(options.files, options.directory)
    return broken


def prepared_pages(directory: Path) -> Iterator[DehuskPage]:
    """Read the pages that `prepare_pages` wrote."""
    yield from read_records(left_by("prepare", directory / _PAGES))


def _label(
    page: GoldPage,
    *,
    repaired: Mapping[str, Labels],
    taught: Mapping[str, Labels],
    by_hand: ByHand,
    content_share: float,
    least_oracle: float,
    encodings: Collection[Encoding],
) -> list[DehuskPage]:
    """Return the labeled page and those that are made of it."""
    segmented = segment(page.utf8, url=page.url, with_tree=bool(encodings))
    words = block_words(segmented.texts)
    gold = tuple(score_words(page.text or ""))
    given = by_hand.get(page.id)
    labels = repaired.get(page.id) or (None if page.text is not None else taught.get(page.id, DROPPED))
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
        content = labels.content(page.id, segmented.texts)
        uncertain = labels.doubted(page.id, segmented.texts)
        reliable = labels != DROPPED
    whole = DehuskPage(
        id=page.id,
        collection=page.collection,
        site=page.site,
        page_type=page.page_kind,
        stripped=page.stripped,
        words=words,
        gold=gold,
        has_gold=page.text is not None or given is not None,
        repaired=page.id in repaired or given is not None,
        encoded=encode(segmented, encodings),
        content=content,
        comment=_comments(page, segmented, words, content_share) & ~content,
        uncertain=uncertain,
        reliable=reliable,
        scripts={} if encodings else _in_scripts(page, len(words)),
    )
    return [whole] if encodings else [whole, *_altered(whole, page, segmented.texts)]


def _altered(page: DehuskPage, given: GoldPage, texts: Sequence[str]) -> Iterator[DehuskPage]:
    """Yield the page with little content under its comments, and with comments of another name."""
    if not page.reliable or page.comment.sum() < _MIN_COMMENTS:
        return
    choice, html = zlib.crc32(page.id.encode()), given.html
    short = shortened(page.id, html, texts, page.content, page.comment)
    if short is not None:
        made = _relabeled(page, texts, short, given.url, "shortened")
        if made.encoded.words[made.content].sum() < made.encoded.words[made.comment].sum():
            yield from _worthwhile(made)
    other = short if short is not None and choice & 1 else html
    if choice & 2:
        other = with_few_comments(page.id, other, texts, page.comment)
    called = renamed(page.id, other)
    if called is not None:
        yield from _worthwhile(_relabeled(page, texts, called, given.url, _RENAMED))


def _worthwhile(page: DehuskPage) -> Iterator[DehuskPage]:
    if page.encoded.words[page.content].sum() >= _MIN_WORDS and page.comment.any():
        yield page


def _relabeled(page: DehuskPage, texts: Sequence[str], html: str, url: str, altered: str) -> DehuskPage:
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
