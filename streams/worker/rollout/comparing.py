"""Comparisons of a version on trial with the trusted one, on the pages of a batch.

Both versions are asked for the same pages, in the background: once the pages are labeled by one of them, the
other one labels them, too. While calls are timed, both are asked, one after the other.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from dehusk.inference.selection.selection import Bools, select
from dehusk.schemas.errors import LateError, NotEncodedError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Prediction, PreparedPage
from dehusk.schemas.trials import Comparison, Example, Figures, bucket_of, bucket_of_ratio
from dehusk.streams.availability import UNAVAILABLE
from dehusk.streams.preparation.steps import PackedPage
from dehusk.streams.rollout.verdict import SMOOTHING
from dehusk.streams.wording import encodable
from dehusk.streams.worker.rollout.plan import OpenVersion

_MAX_TEXT = 200
"""Characters of a block in an example."""
_MAX_URL = 500
Answers = Sequence[Prediction | Broken | None]
Labeled = tuple[PackedPage, Prediction]
"""A page and its labels."""


def figures_of(
    pages: Sequence[EncodedPage],
    answers: Answers,
    seconds: float | None = None,
    *,
    errors: int = 0,
    rejected: int = 0,
    late: int = 0,
) -> Figures:
    """Return the figures of a call, with its time if it has one; the counts are pages that it failed for."""
    pairs = zip(pages, answers, strict=True)
    labeled = [(page, answer) for page, answer in pairs if isinstance(answer, Prediction)]
    words = sum(int(page.words.sum()) for page, _ in labeled)
    kept = sum(int(page.words[_kept_blocks(page, labels)].sum()) for page, labels in labeled)
    calls = {} if seconds is None else {bucket_of(seconds): 1}
    count = len(labeled) + errors + rejected + late
    return Figures(count, errors, rejected, words, kept, calls, late)


def _kept_blocks(page: EncodedPage, labels: Prediction) -> Bools:
    """Return the blocks that a version keeps before the correction by the site, shape [T]."""
    return select(labels.probabilities, page.words, page.repeat, labels.comments, page.alike)


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A version on trial, and the trusted one that it is compared with."""

    tried: OpenVersion
    trusted: OpenVersion


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """Outcome of a call: answers, or the error."""

    seconds: float
    answers: Answers | None = None
    error: Exception | None = None

    def answers_for(self, pages: Sequence[EncodedPage]) -> Answers:
        """Return an answer for each page, None where there is none."""
        return [None] * len(pages) if self.answers is None else self.answers

    @property
    def is_late(self) -> bool:
        return isinstance(self.error, LateError)

    @property
    def has_failed(self) -> bool:
        return isinstance(self.error, UNAVAILABLE) and not self.is_late


async def _call(version: OpenVersion, pages: Sequence[EncodedPage]) -> _Call:
    began = perf_counter()
    try:
        answers = await version.labeler.label(pages)
    except (*UNAVAILABLE, NotEncodedError) as error:
        return _Call(perf_counter() - began, error=error)
    return _Call(perf_counter() - began, answers)


async def compare(
    pair: Pair, labeled: Sequence[Labeled], labeled_by: OpenVersion, order: Sequence[OpenVersion]
) -> Comparison:
    """Ask versions, in an order, for pages that one of a pair has labeled, and compare their labels.

    If both are asked, their times are compared, too.
    """
    pages = [page.encoded for page, _ in labeled]
    calls = {version: await _call(version, pages) for version in order}
    known = _Call(0.0, [labels for _, labels in labeled])
    if labeled_by is pair.trusted:
        tried, trusted = await _confirmed(calls[pair.tried], pair, pages), known
    else:
        tried, trusted = known, calls[pair.trusted]
    if tried is None or trusted.answers is None:
        return Comparison(missed=len(pages))
    compared = _figures(pages, tried, trusted.answers) + _timed(
        calls.get(pair.tried), calls.get(pair.trusted)
    )
    for (page, _), one, other in zip(labeled, trusted.answers, tried.answers_for(pages), strict=True):
        if isinstance(one, Prediction) and isinstance(other, Prediction):
            compared += _compare_page(page, one, other)
    return compared


async def _confirmed(call: _Call, pair: Pair, pages: Sequence[EncodedPage]) -> _Call | None:
    """Return the outcome for which the version on trial is to blame; None if the trusted one is away, too.

    A call that has failed is repeated, as both may have been away for a moment.
    """
    if call.answers is not None:
        return call
    if not call.is_late and not call.has_failed:
        return None
    try:
        await pair.trusted.labeler.check()
    except UNAVAILABLE:
        return None
    again = await _call(pair.tried, pages) if call.has_failed else call
    return again if again.answers is not None or again.is_late or again.has_failed else None


def _figures(pages: Sequence[EncodedPage], tried: _Call, trusted: Answers) -> Comparison:
    answers = tried.answers_for(pages)
    return Comparison(
        figures_of(pages, trusted),
        figures_of(
            pages,
            answers,
            errors=len(pages) if tried.has_failed else 0,
            rejected=sum(isinstance(answer, Broken) for answer in answers),
            late=len(pages) if tried.is_late else 0,
        ),
    )


def _timed(tried: _Call | None, trusted: _Call | None) -> Comparison:
    """Return the times of a pair of calls; of a late one, as long as it was waited for."""
    if tried is None or trusted is None or trusted.answers is None:
        return Comparison()
    if tried.answers is None and not tried.is_late:
        return Comparison()
    slowdown = tried.seconds / max(trusted.seconds, 1e-6)
    return Comparison(
        Figures(calls={bucket_of(trusted.seconds): 1}),
        Figures(calls={bucket_of(tried.seconds): 1}),
        slowdowns={bucket_of_ratio(slowdown): 1},
    )


def _compare_page(page: PackedPage, trusted: Prediction, tried: Prediction) -> Comparison:
    words = page.encoded.words
    kept, tried_kept = _kept_blocks(page.encoded, trusted), _kept_blocks(page.encoded, tried)
    added, removed = tried_kept & ~kept, kept & ~tried_kept
    blocks = (added | removed).nonzero()[0].tolist()
    total, by_trusted, by_tried = (int(words[each].sum()) for each in (slice(None), kept, tried_kept))
    added_words, removed_words = int(words[added].sum()), int(words[removed].sum())
    return Comparison(
        blocks=len(page.encoded),
        differing=len(blocks),
        examples=(_example(page, trusted, tried, blocks[0]),) if blocks else (),
        pages=1,
        differing_pages=int(bool(blocks)),
        added=int(added.sum()),
        words=total,
        kept_by_both=by_trusted - removed_words,
        added_words=added_words,
        removed_words=removed_words,
        kept_ratios=_ratio(by_tried, by_trusted, total),
        dropped_ratios=_ratio(total - by_tried, total - by_trusted, total),
    )


def _ratio(tried: int, trusted: int, words: int) -> dict[int, int]:
    """Return the bucket of a ratio of words of a page; none for a page without words."""
    few = SMOOTHING * words
    return {bucket_of_ratio((tried + few) / (trusted + few)): 1} if words else {}


def _example(page: PackedPage, trusted: Prediction, tried: Prediction, block: int) -> Example:
    prepared: PreparedPage = pickle.loads(page.packed)  # noqa: S301 a process of the pool packed it
    return Example(
        encodable(page.identity.url[:_MAX_URL]),
        encodable(prepared.segmented.texts[block][:_MAX_TEXT]),
        round(float(trusted.probabilities[block]), 4),
        round(float(tried.probabilities[block]), 4),
    )
