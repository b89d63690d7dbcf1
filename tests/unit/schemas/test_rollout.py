"""Messages of the control topic: states of roll-outs and reports of workers, as JSON."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import Change, Limits, Part, Rollout, is_version
from dehusk.schemas.trials import (
    CANARY,
    MAX_EXAMPLES,
    PROMOTED,
    SHADOW,
    Comparison,
    Example,
    Figures,
    WorkerReport,
    bound,
    bucket_of,
    bucket_of_ratio,
    total,
    total_figures,
)
from tests import first_release

AT = datetime(2026, 11, 22, 12, 30, 0, 123456, UTC)
PLAIN = Rollout(1, "7", Change(AT, "somebody", "because"))
FULL = replace(
    PLAIN,
    previous="6",
    promoted_at=AT,
    canary=Part("8", 0.1),
    shadow=Part("9", 1.0),
    limits=Limits(least_pages=3, most_errors=0.5),
)


@pytest.mark.parametrize("state", [PLAIN, FULL])
def test_a_state_is_read_as_it_was_written(state: Rollout) -> None:
    assert Rollout.decode(state.encode()) == state


def test_states_of_the_first_release_and_of_later_ones_are_read_and_it_reads_those_of_today() -> None:
    assert Rollout.decode(first_release.ROLLOUT) == PLAIN
    assert Rollout.decode(first_release.with_later_fields(first_release.ROLLOUT)) == PLAIN
    assert not first_release.lacking(orjson.loads(PLAIN.encode()), orjson.loads(first_release.ROLLOUT))


def test_times_are_read_in_utc() -> None:
    fields = orjson.loads(PLAIN.encode()) | {"promoted_at": "2026-11-22T14:30:00.123456+02:00"}
    found = Rollout.decode(orjson.dumps(fields)).promoted_at
    assert (found, found and found.tzinfo) == (AT, UTC)


def test_fields_that_nobody_knows_are_passed_over_and_those_that_may_be_missing_have_defaults() -> None:
    fields = orjson.loads(PLAIN.encode())
    fields |= {"tomorrow": 1, "limits": {"most_errors": 0.5, "tomorrow": 1}}
    del fields["canary"], fields["previous"]
    assert Rollout.decode(orjson.dumps(fields)) == replace(PLAIN, limits=Limits(most_errors=0.5))


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"serving": "newest"}, "serving"),
        ({"serving": 7}, "serving"),
        ({"revision": 0}, "revision"),
        ({"revision": True}, "revision"),
        ({"canary": {"version": "8", "share": 1.5}}, "share"),
        ({"canary": {"version": "8", "share": 0}}, "share"),
        ({"canary": {"version": "8"}}, "share"),
        ({"shadow": []}, "shadow"),
        ({"change": {"at": "yesterday", "by": "", "reason": ""}}, "at"),
        ({"change": {"at": "2026-11-22T12:30:00", "by": "", "reason": ""}}, "timezone"),
        ({"limits": {"most_errors": -1}}, "most_errors"),
        ({"limits": {"least_pages": 0.5}}, "least_pages"),
    ],
)
def test_what_is_wrong_with_a_state_is_named(changed: dict[str, object], name: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Rollout.decode(orjson.dumps(orjson.loads(PLAIN.encode()) | changed))


@pytest.mark.parametrize("value", [b"", b"[]", b"7", b"{", b"\xff", b'{"x":' + 100_000 * b"["])
def test_what_is_no_object_is_no_state(value: bytes) -> None:
    with pytest.raises(ConfigurationError, match="state of a roll-out"):
        Rollout.decode(value)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=5), SCALARS, max_size=3)
KNOWN = [*orjson.loads(FULL.encode()), "version", "share", "at"]


@given(st.dictionaries(st.sampled_from(KNOWN), VALUES))
def test_whatever_is_in_a_state_it_is_read_or_refused(changed: dict[str, object]) -> None:
    with suppress(ConfigurationError):
        read = Rollout.decode(json.dumps(orjson.loads(FULL.encode()) | changed).encode())
        assert Rollout.decode(read.encode()) == read


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_no_calendar_has_is_refused(at: str) -> None:
    change = {"at": at, "by": "", "reason": ""}
    with pytest.raises(ConfigurationError, match="change"):
        Rollout.decode(orjson.dumps(orjson.loads(PLAIN.encode()) | {"change": change}))


def test_a_state_names_each_version_once() -> None:
    assert FULL.versions == ("7", "8", "9")
    assert replace(FULL, shadow=Part("8", 1.0)).versions == ("7", "8")


def test_the_version_before_is_trusted_while_the_promoted_one_is_on_probation() -> None:
    late = AT + timedelta(seconds=FULL.limits.probation_seconds)
    assert FULL.trusted(AT) == "6"
    assert FULL.trusted(late) is None
    assert replace(FULL, promoted_at=None).trusted(AT) is None


@pytest.mark.parametrize(
    ("name", "is_one"), [("7", True), ("", False), ("-7", False), ("٧", False), ("7" * 19, False)]
)
def test_versions_are_numbers(name: str, *, is_one: bool) -> None:
    assert is_version(name) == is_one


FIGURES = Figures(pages=10, errors=1, rejected=1, words=100, kept=40, calls={-8: 3, 0: 1}, late=1)
EXAMPLE = Example("https://example.org/", "Read more", 0.2, 0.9)
COMPARISON = Comparison(
    FIGURES,
    FIGURES,
    blocks=50,
    differing=5,
    missed=1,
    examples=(EXAMPLE,),
    pages=7,
    differing_pages=3,
    added=2,
    words=100,
    kept_by_both=40,
    added_words=10,
    removed_words=6,
    kept_ratios={-1: 2, 0: 5},
    dropped_ratios={1: 2, 0: 5},
    slowdowns={0: 4},
)
REPORT = WorkerReport(
    "host-1", 3, "7", "8", None, {"9": "not served"}, {"7": FIGURES}, COMPARISON, {"canary": COMPARISON}
)


def test_figures_add_up() -> None:
    both = FIGURES + replace(FIGURES, calls={-8: 1, 4: 2})
    assert both == Figures(20, 2, 2, 200, 80, {-8: 4, 0: 1, 4: 2}, 2)
    assert total_figures([REPORT, REPORT]) == {"7": FIGURES + FIGURES}
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
        str(number) for number in range(20 - MAX_EXAMPLES, 20)
    ]
    assert (both.pages, both.differing_pages, both.added, both.removed) == (140, 60, 40, 60)
    assert (both.words, both.kept_by_both, both.added_words, both.removed_words) == (2000, 800, 200, 120)
    assert (both.kept_ratios, both.dropped_ratios) == ({-1: 40, 0: 100}, {1: 40, 0: 100})
    assert (both.slowdowns, both.calls, both.disagreement) == ({0: 80}, 80, 0.1)
    assert both.f1 == pytest.approx(2 * 40 / (50 + 46))
    assert total([None]) is None


def test_versions_that_keep_nothing_agree() -> None:
    assert Comparison().f1 == 1.0


@pytest.mark.parametrize("ratio", [1e-9, 0.05, 0.5, 1.0, 1.9, 700.0])
def test_ratios_are_known_to_a_tenth(ratio: float) -> None:
    known = bound(bucket_of_ratio(ratio))
    assert known == pytest.approx(max(ratio, 1e-6), rel=0.1)
    assert bucket_of_ratio(1 / max(ratio, 1e-6)) == -bucket_of_ratio(ratio)


def test_a_report_has_the_comparison_of_each_trial() -> None:
    assert (REPORT.compared(SHADOW), REPORT.compared(CANARY), REPORT.compared(PROMOTED)) == (
        COMPARISON,
        COMPARISON,
        None,
    )


@pytest.mark.parametrize("report", [REPORT, WorkerReport("host-1", 0, "")])
def test_a_report_is_read_as_it_was_written(report: WorkerReport) -> None:
    assert WorkerReport.decode(report.encode()) == report
    assert WorkerReport.decode(first_release.with_later_fields(report.encode())) == report


def test_reports_of_the_first_release_are_read_and_it_reads_those_of_today() -> None:
    figures = replace(FIGURES, rejected=2, late=0)
    first = WorkerReport("host-1", 1, "7", figures={"7": figures})
    assert WorkerReport.decode(first_release.REPORT) == first
    assert WorkerReport.decode(b'{"worker":"host-1","revision":1,"serving":"7"}') == replace(
        first, figures={}
    )
    assert not first_release.lacking(orjson.loads(first.encode()), orjson.loads(first_release.REPORT))


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"[]",
        b"{}",
        b'{"worker": "w", "revision": 1, "serving": "7", "figures": 1}',
        b'{"worker": "w", "revision": 1, "serving": "7", "figures": {"7": {"pages": -1}}}',
        b'{"worker": "w", "revision": 1, "serving": "7", "figures": {"7": {"calls": {"9999": 1}}}}',
    ],
)
def test_what_is_no_report_is_refused(value: bytes) -> None:
    with pytest.raises(ConfigurationError, match="report"):
        WorkerReport.decode(value)
