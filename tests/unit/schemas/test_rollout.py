"""The state of a roll-out and its JSON."""

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
    assert Rollout.read(state.written()) == state


def test_fields_that_nobody_knows_are_passed_over_and_those_that_may_be_missing_have_defaults() -> None:
    fields = orjson.loads(PLAIN.written())
    fields |= {"tomorrow": 1, "limits": {"most_errors": 0.5, "tomorrow": 1}}
    del fields["canary"], fields["previous"]
    assert Rollout.read(orjson.dumps(fields)) == replace(PLAIN, limits=Limits(most_errors=0.5))


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
        ({"shadow": []}, "a part is list"),
        ({"change": {"at": "yesterday", "by": "", "reason": ""}}, "at"),
        ({"change": {"at": "2026-11-22T12:30:00", "by": "", "reason": ""}}, "time zone"),
        ({"limits": {"most_errors": -1}}, "most_errors"),
        ({"limits": {"least_pages": 0.5}}, "least_pages"),
    ],
)
def test_what_is_wrong_with_a_state_is_named(changed: dict[str, object], name: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Rollout.read(orjson.dumps(orjson.loads(PLAIN.written()) | changed))


@pytest.mark.parametrize("value", [b"", b"[]", b"7", b"{"])
def test_what_is_no_object_is_no_state(value: bytes) -> None:
    with pytest.raises(ConfigurationError, match="no JSON"):
        Rollout.read(value)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=5), SCALARS, max_size=3)
KNOWN = [*orjson.loads(FULL.written()), "version", "share", "at"]


@given(st.dictionaries(st.sampled_from(KNOWN), VALUES))
def test_whatever_is_in_a_state_it_is_read_or_refused(changed: dict[str, object]) -> None:
    with suppress(ConfigurationError):
        read = Rollout.read(json.dumps(orjson.loads(FULL.written()) | changed).encode())
        assert Rollout.read(read.written()) == read


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_no_calendar_has_is_refused(at: str) -> None:
    change = {"at": at, "by": "", "reason": ""}
    with pytest.raises(ConfigurationError, match="'at'"):
        Rollout.read(orjson.dumps(orjson.loads(PLAIN.written()) | {"change": change}))


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
