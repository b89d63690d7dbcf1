"""What workers see of versions, added up and as JSON."""

from dataclasses import replace

import orjson
import pytest

from dehusk.schemas.comparison import (
    MOST_EXAMPLES,
    Comparison,
    Example,
    Figures,
    WorkerReport,
    bucket_of,
    total,
)
from dehusk.schemas.errors import ConfigurationError

FIGURES = Figures(pages=10, errors=1, rejected=2, words=100, kept=40, calls={-8: 3, 0: 1})
EXAMPLE = Example("https://example.org/", "Read more", 0.2, 0.9)
COMPARISON = Comparison(FIGURES, FIGURES, blocks=50, differing=5, missed=1, examples=(EXAMPLE,))
REPORT = WorkerReport("host-1", 3, "7", "8", None, {"9": "not served"}, {"7": FIGURES}, COMPARISON)


def test_figures_add_up() -> None:
    both = FIGURES + replace(FIGURES, calls={-8: 1, 4: 2})
    assert both == Figures(20, 2, 4, 200, 80, {-8: 4, 0: 1, 4: 2})
    assert (FIGURES.labeled, FIGURES.kept_share, Figures().kept_share) == (7, 0.4, 0.0)


@pytest.mark.parametrize("seconds", [0.0004, 0.003, 0.25, 1.0, 17.0])
def test_times_are_known_to_a_fifth(seconds: float) -> None:
    known = Figures(calls={bucket_of(seconds): 1}).seconds(0.99)
    assert seconds <= known < 1.2 * seconds


def test_a_percentile_is_of_all_calls() -> None:
    figures = Figures(calls={bucket_of(0.01): 99, bucket_of(1.0): 1})
    assert figures.seconds(0.99) < 0.02
    assert figures.seconds(0.999) == 1.0
    assert Figures().seconds(0.99) == 0.0


def test_comparisons_add_up_to_a_few_examples() -> None:
    numbered = [replace(COMPARISON, examples=(replace(EXAMPLE, url=str(number)),)) for number in range(20)]
    both = total([None, *numbered])
    assert both is not None
    assert (both.blocks, both.differing, both.missed, both.serving.pages) == (1000, 100, 20, 200)
    assert [example.url for example in both.examples] == [
        str(number) for number in range(20 - MOST_EXAMPLES, 20)
    ]
    assert both.disagreement == 0.1
    assert total([None]) is None


@pytest.mark.parametrize("report", [REPORT, WorkerReport("host-1", 0, "")])
def test_a_report_is_read_as_it_was_written(report: WorkerReport) -> None:
    assert WorkerReport.read(report.written()) == report
    more = orjson.loads(report.written()) | {"tomorrow": 1}
    assert WorkerReport.read(orjson.dumps(more)) == report


@pytest.mark.parametrize(
    "value", [b"", b"[]", b"{}", b'{"worker": "w", "revision": 1, "serving": "7", "figures": 1}']
)
def test_what_is_no_report_is_refused(value: bytes) -> None:
    with pytest.raises(ConfigurationError, match="report"):
        WorkerReport.read(value)
