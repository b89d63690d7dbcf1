"""Ratios of the steps of a page to a peer of the same run, and those that were published last."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.pages import Page
from benchmarks.steps import PEERS, RESILIPARSE

PUBLISHED = Path(__file__).with_name("published.json")
"""Ratios of the published table."""
NOISE = 1.1
"""Factor by which a ratio may grow from run to run."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """Times of the steps of some pages, as multiples of resiliparse's."""

    pages: int
    kilobytes: int
    """Size of a page on average."""
    steps: Mapping[str, float]


def ratios_of(pages: Sequence[Page], times: Mapping[str, float]) -> Ratios:
    """Return the ratios of the times of one run."""
    size = sum(len(page.html) for page in pages) / len(pages) / 1000
    peer = times[RESILIPARSE]
    return Ratios(len(pages), round(size), {name: round(spent / peer, 3) for name, spent in times.items()})


def write(file: Path, ratios: Mapping[str, Ratios]) -> None:
    """Write ratios by kind of pages as JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({kind: asdict(each) for kind, each in ratios.items()}, indent=2) + "\n")


def read(file: Path) -> dict[str, Ratios]:
    """Read what `write` has written; nothing where it was not."""
    if not file.exists():
        return {}
    return {kind: Ratios(**each) for kind, each in json.loads(file.read_text()).items()}


def compare(ratios: Mapping[str, Ratios], published: Mapping[str, Ratios]) -> str:
    """Return which steps take longer than the published ratios and noise allow."""
    lines: list[str] = []
    for kind, now in ratios.items():
        before = published.get(kind)
        if before is None or (now.pages, now.kilobytes) != (before.pages, before.kilobytes):
            lines.append(f"{kind}: no ratios of these pages are published")
            continue
        slower = [
            f"{kind}: {name}, {ratio:.2f} times {RESILIPARSE}, was published with {before.steps[name]:.2f}"
            for name, ratio in now.steps.items()
            if name in before.steps and name not in PEERS and ratio > NOISE * before.steps[name]
        ]
        lines += slower or [f"{kind}: no step is slower than published, but for noise of {NOISE - 1:.0%}"]
    return "\n".join(lines)
