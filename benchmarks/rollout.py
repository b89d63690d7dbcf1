"""Cost of swaps of versions under load: the time to a document, and until the old version is gone.

Times are those of the records in Kafka, so what the benchmark itself takes is not in them.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from benchmarks.stage import Document, Outcome, Size, Step
from benchmarks.swaps import run
from benchmarks.versions import write_repository
from dehusk.streams.local.folder import temporary_folder
from dehusk.streams.local.stack import LocalStack

FULL = Size(swaps=10, rate=40, steady_seconds=15, pause_seconds=1, blocks=12, at_once=3)
_BEFORE_MS = 1000
"""Pages that were produced so long before a step began may be in work when it does."""


@dataclass(frozen=True, slots=True)
class Handover:
    """Duration for which a version went on that another one follows."""

    kind: str
    command: float
    """Seconds from the start of the command to the state on the control topic."""
    state: float
    """Seconds from the state to the last document of the old version."""


def measure(size: Size = FULL) -> Outcome:
    """Run all steps on a local stack of their own."""
    with temporary_folder() as folder:
        write_repository(folder / "models")
        with LocalStack(folder / "stack", repository=folder / "models") as stack:
            triton = stack.services["triton"]
            return asyncio.run(run(stack.addresses, triton, folder / "models", folder, size))


def lost(outcome: Outcome) -> set[bytes]:
    """Return the keys of pages without a document."""
    return {*outcome.produced} - {each.key for each in outcome.documents}


def repeated(outcome: Outcome) -> int:
    """Count the documents that a newer one of the same key replaces."""
    return len(outcome.documents) - len({each.key for each in outcome.documents})


def waits(outcome: Outcome) -> dict[str, list[float]]:
    """Return the seconds from each page to its first document, by the kind of step at its production."""
    first: dict[bytes, int] = {}
    for each in outcome.documents:
        first[each.key] = min(each.at, first.get(each.key, each.at))
    found: dict[str, list[float]] = defaultdict(list)
    for key, at in outcome.produced.items():
        if key in first:
            found[_kind_at(outcome.steps, at)].append((first[key] - at) / 1000)
    return found


def _kind_at(steps: Sequence[Step], at: int) -> str:
    during = (step.kind for step in steps if step.began - _BEFORE_MS <= at < step.ended)
    return next(during, "between")


def handovers(outcome: Outcome) -> list[Handover]:
    """Return the duration for which the old version went on in each step that changed the version."""
    return [
        _handover(step, at, outcome.documents)
        for step in outcome.steps
        if step.before != step.after
        for state, at in outcome.states
        if step.began <= at <= step.ended and state.serving == step.after
    ]


def _handover(step: Step, state_at: int, documents: Sequence[Document]) -> Handover:
    old = [each.at for each in documents if each.version == step.before and state_at < each.at <= step.ended]
    return Handover(step.kind, (state_at - step.began) / 1000, (max(old, default=state_at) - state_at) / 1000)


def report(outcome: Outcome) -> str:
    """Return times by the kind of step, the durations of old versions, and the results of the pages."""
    lines = [f"{'pages produced during':24} {'pages':>7} {'median s':>9} {'99 % s':>7} {'longest s':>10}"]
    for kind, seconds in waits(outcome).items():
        worst = quantiles(seconds, n=100)[-1] if len(seconds) > 1 else seconds[0]
        lines.append(f"{kind:24} {len(seconds):7} {median(seconds):9.2f} {worst:7.2f} {max(seconds):10.2f}")
    lines += [
        "",
        f"{'old version, in':24} {'times':>7} {'command s':>10} {'then until its last document s':>31}",
    ]
    found = handovers(outcome)
    lines += [_went_on(kind, found) for kind in dict.fromkeys(each.kind for each in found)]
    versions = Counter(each.version for each in outcome.documents)
    labeled = ", ".join(f"{count:,} by version {version}" for version, count in versions.most_common())
    lines += [
        "",
        f"{len(outcome.produced):,} pages: {len(lost(outcome))} lost, {outcome.dead_letters} dead letters, "
        f"{repeated(outcome)} documents twice; {labeled}; {len(outcome.states)} states",
        *(state.change.reason for state, _ in outcome.states if "taken back" in state.change.reason),
    ]
    return "\n".join(lines)


def _went_on(kind: str, found: Sequence[Handover]) -> str:
    own = [each for each in found if each.kind == kind]
    commands, states = [each.command for each in own], [each.state for each in own]
    spread = f"{median(states):.2f} ({min(states):.2f} to {max(states):.2f})"
    return f"{kind:24} {len(own):7} {median(commands):10.2f} {spread:>31}"
