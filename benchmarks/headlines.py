"""Headlines of labeled pages: how many are right, by dehusk, by trafilatura and by `<title>`.

A headline is right if it has the words of the labeled one, in any case and punctuation.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from trafilatura.metadata import extract_metadata

from benchmarks.pages import Page
from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.inference.metadata.headline import find_headline
from dehusk.inference.metadata.titles import same_text
from dehusk.inference.preparing import prepare
from dehusk.schemas.options import WITHOUT_METADATA
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Encoding, Prediction, PreparedPage, RawPage
from dehusk.schemas.sites import BlockFrequencies, SiteObservation
from dehusk.streams.preparation.batch import observation
from dehusk.streams.preparation.steps import pack
from dehusk.streams.sites.store import MemorySiteStatistics, frequencies, observe


@dataclass(slots=True)
class Right:
    """Numbers of labeled pages, and of those whose headline is right."""

    pages: int = 0
    title: int = 0
    trafilatura: int = 0
    alone: int = 0
    """By dehusk, without statistics of sites."""
    with_site: int = 0
    """By dehusk, with the statistics of the site, counted in a pass before."""


def measure(pages: Sequence[Page]) -> Right:
    """Compare the headlines of the pages that have a title with it; all pages count for their sites."""
    prepared = [
        prepare(RawPage(page.url, page.html), options=WITHOUT_METADATA, encodings=(Encoding.SITE_KEYS,))
        for page in pages
    ]
    known = asyncio.run(_observe([page for page in prepared if isinstance(page, PreparedPage)]))
    result, remaining = Right(), iter(known)
    for page, outcome in zip(pages, prepared, strict=True):
        if isinstance(outcome, Broken):
            continue
        site = next(remaining)
        if page.title:
            _count(result, page, outcome, site)
    return result


def report(right: Right) -> str:
    """Return the shares of headlines that are right."""
    shares = (
        ("<title>", right.title),
        ("trafilatura", right.trafilatura),
        ("dehusk", right.alone),
        ("dehusk, with site statistics", right.with_site),
    )
    lines = [f"{name:28} {count / max(1, right.pages):6.1%}" for name, count in shares]
    return "\n".join([f"headlines: {right.pages} pages", *lines])


async def _observe(pages: Sequence[PreparedPage]) -> list[BlockFrequencies]:
    """Return what is known of the site of each page once all are counted."""
    observations = [_observation(page) for page in pages]
    store = MemorySiteStatistics()
    await observe(store, observations)
    return [frequencies(statistics) for statistics in await observe(store, observations)]


def _observation(page: PreparedPage) -> SiteObservation:
    labels = RulesLabeler().label_here(page.encoded)
    if not isinstance(labels, Prediction):
        raise TypeError(f"the rules answered {labels}")
    return observation(pack(page), labels)


def _count(right: Right, page: Page, prepared: PreparedPage, site: BlockFrequencies) -> None:
    def is_right(headline: str | None) -> bool:
        return headline is not None and same_text(headline, page.title or "")

    right.pages += 1
    right.title += is_right(prepared.segmented.title)
    right.trafilatura += is_right(extract_metadata(page.html, default_url=page.url or None).title)
    right.alone += is_right(find_headline(prepared.segmented, page.url))
    right.with_site += is_right(find_headline(prepared.segmented, page.url, site))
