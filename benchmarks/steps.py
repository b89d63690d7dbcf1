"""CPU time of the steps of a page, compared with the bare parse and other extractors."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from benchmarks.extractors import with_dehusk
from benchmarks.pages import Page
from dehusk.inference.encoding.encoding import encode
from dehusk.inference.preparing import prepare
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.settings import PageLimits
from dehusk.streams.sources.html import Html
from dehusk.training.pages.extractors import resiliparse_text, trafilatura_text

_SLOW_EVERY = 10
"""Trafilatura is measured on every tenth of the pages."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something done to one page."""

    name: str
    do: Callable[[Page], object]
    every: int = 1
    """Number of pages of which one is measured."""


_SOURCE = Html(PageLimits().max_bytes)


def decode(html: bytes) -> bytes:
    """Decode a page whose server declared UTF-8."""
    (page,) = _SOURCE.decode(
        Message(b"http://example.org/", html, (("content-type", b"text/html; charset=utf-8"),))
    )
    if not isinstance(page, RawPage):
        raise TypeError(f"a page became {page}")
    return page.html


RESILIPARSE = "resiliparse main content"
TRAFILATURA = f"trafilatura (every {_SLOW_EVERY}th page)"
PARSE = "bare parse (selectolax)"
PEERS = (PARSE, RESILIPARSE, TRAFILATURA)


_SIZES = (0, 50, 100, 200, 400)
"""Least kilobytes of the pages that are compared by their size."""


def _steps(model: str) -> tuple[Step, ...]:
    return (
        Step(PARSE, lambda page: LexborHTMLParser(page.html)),
        Step("decode + segment", lambda page: segment(decode(page.html))),
        Step("decode + segment + encode", lambda page: encode(segment(decode(page.html)))),
        Step(
            "all before the model, with metadata", lambda page: prepare(RawPage(page.url, decode(page.html)))
        ),
        *_both(model),
        Step(TRAFILATURA, lambda page: trafilatura_text(page.html), _SLOW_EVERY),
    )


def _both(model: str) -> tuple[Step, Step]:
    """Return all steps as one, and the peer that they are compared with."""
    clean = with_dehusk(model)
    return (
        Step(f"all, with {model} (onnx)", lambda page: clean(page.html, page.url)),
        Step(RESILIPARSE, lambda page: resiliparse_text(page.html)),
    )


def measure(pages: Sequence[Page], model: str, rounds: int) -> dict[str, float]:
    """Return the times of each step."""
    return best_times(_steps(model), pages, rounds)


def best_times(steps: Sequence[Step], pages: Sequence[Page], rounds: int) -> dict[str, float]:
    """Return milliseconds of CPU time per page of each step: the best of some rounds, taken in turn."""
    best = {step.name: float("inf") for step in steps}
    for _ in range(rounds):
        for step in steps:
            best[step.name] = min(best[step.name], _milliseconds(step, pages[:: step.every]))
    return best


def _milliseconds(step: Step, pages: Sequence[Page]) -> float:
    started = time.process_time()
    for page in pages:
        step.do(page)
    return (time.process_time() - started) * 1000 / len(pages)


def report(title: str, pages: Sequence[Page], times: dict[str, float]) -> str:
    """Return the times as a table, with ratios to the bare parse and to resiliparse."""
    size = sum(len(page.html) for page in pages) / len(pages) / 1000
    parse, peer = times[PARSE], times[RESILIPARSE]
    lines = [
        f"{title}: {len(pages)} pages, {size:.0f} KB on average",
        f"{'':38}  ms/page  x parse  x resiliparse",
    ]
    lines += [f"{name:38} {ms:8.2f} {ms / parse:8.2f} {ms / peer:14.2f}" for name, ms in times.items()]
    return "\n".join(lines)


def by_size(title: str, pages: Sequence[Page], model: str, rounds: int) -> str:
    """Return a table of the times of all steps and of resiliparse for pages of different sizes."""
    both = _both(model)
    lines = [f"{title + ', by size':32} pages     KB  ms/page  resiliparse  x resiliparse"]
    for least, end in zip(_SIZES, (*_SIZES[1:], sys.maxsize), strict=True):
        some = [page for page in pages if least <= len(page.html) // 1000 < end]
        if some:
            own, peer = best_times(both, some, rounds).values()
            size = sum(len(page.html) for page in some) / len(some) / 1000
            name = f"from {least} KB"
            lines.append(f"{name:32} {len(some):5} {size:6.0f} {own:8.2f} {peer:12.2f} {own / peer:14.2f}")
    return "\n".join(lines)
