"""Versions that are swapped under a steady load, while things go wrong, on the real Kafka and Triton."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.rollout import handovers, lost, report
from benchmarks.stage import Outcome, Size
from benchmarks.swaps import run
from benchmarks.versions import CORRUPT, FAILING, KEPT, OTHER, SLOW, USUAL, write_repository
from dehusk.streams.local.stack import LocalStack
from tests.integration.conftest import Stack

SIZE = Size(swaps=6, rate=10, steady_seconds=1, pause_seconds=0.5, blocks=12, at_once=2)


@pytest.fixture
def triton(tmp_path: Path) -> Iterator[LocalStack]:
    """A Triton of this test's own, which is restarted, and serves versions that are not fit, too."""
    write_repository(tmp_path / "models")
    with Stack(tmp_path / "own", repository=tmp_path / "models", services=("triton",)) as stack:
        yield stack


def versions_of(outcome: Outcome, labeled_by: str) -> list[float]:
    """The least probability of a block in each document that names a version."""
    return [each.least for each in outcome.documents if each.version == labeled_by]


def reasons(outcome: Outcome) -> dict[str, str]:
    """Return the reason why each version was taken back, by the control topic."""
    said = [state.change.reason.split() for state, _ in outcome.states if "taken back" in state.change.reason]
    return {words[1]: words[4].rstrip(":") for words in said}


async def test_no_page_is_lost_and_each_document_names_who_labeled_it(
    stack: LocalStack, triton: LocalStack, tmp_path: Path
) -> None:
    own = triton.addresses
    addresses = replace(stack.addresses, triton_grpc=own.triton_grpc, triton_http=own.triton_http)
    outcome = await run(addresses, triton.services["triton"], tmp_path / "models", tmp_path, SIZE)
    assert lost(outcome) == set(), report(outcome)
    assert {each.key for each in outcome.documents} == {*outcome.produced}
    assert len({(each.key, each.partition) for each in outcome.documents}) == len(outcome.produced)
    assert outcome.dead_letters == 0
    assert not any(each.degraded for each in outcome.documents)
    check_versions(outcome)
    check_states(outcome)


def check_versions(outcome: Outcome) -> None:
    """Only one version keeps each block of a page, and the one that answers NaN labels none."""
    assert {each.version for each in outcome.documents} - {SLOW} == {USUAL, OTHER}
    assert min(versions_of(outcome, OTHER)) >= KEPT
    assert max(versions_of(outcome, USUAL) + versions_of(outcome, SLOW)) < KEPT


def check_states(outcome: Outcome) -> None:
    """The versions that are not fit were taken back, and the last command holds."""
    found = reasons(outcome)
    assert found == {SLOW: "latency", CORRUPT: "refused", FAILING: "no-probabilities"}
    last, _ = outcome.states[-1]
    assert (last.serving, last.canary, last.shadow) == (outcome.expected, None, None)
    assert [state.revision for state, _ in outcome.states] == [*range(1, len(outcome.states) + 1)]
    swaps = SIZE.swaps - 3
    assert len([each for each in handovers(outcome) if each.kind == "swap"]) == swaps
