"""Whether a version answers as it was trained, with probabilities, alone as in a batch, and how fast."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.inference.batching import Window, WindowAnswer, windows
from dehusk.inference.golden import LARGEST_DIFFERENCE, GoldenAnswer, largest_difference
from dehusk.inference.signature import Signature
from dehusk.streams.models.faults import Fault, FaultError
from dehusk.streams.models.runners import Runner

ROUNDS = 25
"""How often each page is timed."""
_SECONDS = 20
"""After which no further round begins."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from a request to its answer, of one page at a time."""

    p50: float
    p99: float
    answers: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """By how much answers differ from those that they should be, but for outliers."""

    pages: int
    blocks: int
    from_training: float
    in_batches: float
    """Of a page with batch mates from the page alone."""


def golden_windows(golden: Sequence[GoldenAnswer], signature: Signature) -> list[Window]:
    """The golden pages as a model of a signature reads them, each in one window."""
    return [window for each in golden for window in windows(each.page, signature)]


async def check_answers(runner: Runner, golden: Sequence[GoldenAnswer], signature: Signature) -> Agreement:
    """Run the golden pages alone and in batches.

    Raises:
        FaultError: an answer is not as trained, no probabilities, or another one in a batch.
    """
    cut = golden_windows(golden, signature)
    alone = [await runner.alone(window) for window in cut]
    for each, answer in zip(golden, alone, strict=True):
        _check_probabilities(each.name, answer, len(each.page))
    trained = [[each.probabilities, each.comments][: len(signature.answer)] for each in golden]
    from_training = _difference(alone, [[t for t in each if t is not None] for each in trained])
    if not from_training <= LARGEST_DIFFERENCE:
        raise FaultError(
            Fault.OTHER_ANSWERS, f"probabilities differ from the trained model's by {from_training:.1e}"
        )
    return Agreement(len(golden), sum(map(len, cut)), from_training, await _check_batches(runner, cut, alone))


async def _check_batches(runner: Runner, cut: list[Window], alone: list[WindowAnswer]) -> float:
    together = await runner.together(cut)
    expected = alone * (len(together) // len(alone))
    if any(ours.shape != theirs.shape for ours, theirs in _pairs(together, expected)):
        raise FaultError(Fault.DEPENDS_ON_BATCH, "in a batch, a page gets a different number of answers")
    difference = _difference(together, expected)
    if not difference <= LARGEST_DIFFERENCE:
        raise FaultError(
            Fault.DEPENDS_ON_BATCH, f"with batch mates, probabilities differ by {difference:.1e} from alone"
        )
    return difference


async def time_answers(
    runners: Sequence[tuple[Runner, Sequence[Window]]], rounds: int = ROUNDS
) -> list[Latency]:
    """How fast each of some runners answers its windows, one request at a time, in turns."""
    taken: list[list[float]] = [[] for _ in runners]
    until = time.monotonic() + _SECONDS
    for number in range(rounds):
        if number and time.monotonic() > until:
            break
        for (runner, cut), times in zip(runners, taken, strict=True):
            for window in cut:
                began = time.perf_counter()
                await runner.alone(window)
                times.append((time.perf_counter() - began) * 1000)
    return [
        Latency(float(np.percentile(times, 50)), float(np.percentile(times, 99)), len(times))
        for times in taken
    ]


def check_latency(found: Latency, usual: Latency, most: float) -> None:
    """See whether a version is at most so many times as slow as another one.

    Raises:
        FaultError: it is slower.
    """
    if found.p50 > most * usual.p50:
        raise FaultError(
            Fault.TOO_SLOW,
            f"a page takes {found.p50:.1f} ms in the middle, more than {most:g} times the {usual.p50:.1f} ms "
            "of the default version",
        )


def _check_probabilities(page: str, answer: WindowAnswer, blocks: int) -> None:
    for values in answer:
        if len(values) != blocks:
            raise FaultError(
                Fault.WRONG_SHAPE, f"{len(values)} probabilities for the {blocks} blocks of {page!r}"
            )
        if not np.isfinite(values).all():
            raise FaultError(Fault.NOT_FINITE, f"an answer to {page!r} is NaN or infinite")
        if values.min() < 0 or values.max() > 1:
            raise FaultError(Fault.NOT_PROBABILITIES, f"an answer to {page!r} is not between 0 and 1")


def _difference(ours: Sequence[WindowAnswer], theirs: Sequence[WindowAnswer]) -> float:
    return largest_difference(np.concatenate([np.abs(a - b) for a, b in _pairs(ours, theirs)]))


def _pairs(
    ours: Sequence[WindowAnswer], theirs: Sequence[WindowAnswer]
) -> list[tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]]:
    return [pair for mine, yours in zip(ours, theirs, strict=True) for pair in zip(mine, yours, strict=True)]
