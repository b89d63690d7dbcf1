"""Exported sites, line by line."""

from base64 import b64encode

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.sites import SiteKey
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.sites.catalogue import WholeSite, prevailing_key
from dehusk.streams.sites.exporting import header, read_header, read_line
from dehusk.streams.sites.stored import CorruptError, State

STATE = b64encode(bytes(24)).decode()
SITE = {"site": "a.test", "milliseconds": 1000, "fields": {"state": STATE}}


def test_a_line_is_a_site() -> None:
    assert read_line(orjson.dumps(SITE)) == (
        WholeSite("a.test", {b"state": bytes(24)}, 1000),
        State(0, 0, 0, 0, 0),
    )
    assert read_line(orjson.dumps({**SITE, "milliseconds": None}))[0].milliseconds_left is None


@pytest.mark.parametrize(
    "change",
    [
        {"site": 1},
        {"site": "a test"},
        {"site": "a{b}"},
        {"site": ""},
        {"milliseconds": 0},
        {"milliseconds": True},
        {"milliseconds": "1"},
        {"milliseconds": 2**60},
        {"fields": []},
        {"fields": {}},
        {"fields": {"state": "?"}},
        {"fields": {"state": 1}},
        {"fields": {"state": STATE, "no field": STATE}},
        {"fields": {"state": STATE, "pages": STATE}},
    ],
)
def test_what_is_no_site_is_said(change: dict[str, object]) -> None:
    with pytest.raises(CorruptError):
        read_line(orjson.dumps({**SITE, **change}))


@given(st.binary(max_size=80))
def test_a_line_of_anything_is_no_site(line: bytes) -> None:
    with pytest.raises(CorruptError):
        read_line(line)


def test_a_line_that_is_cut_short_is_no_site() -> None:
    line = orjson.dumps(SITE)
    for end in range(len(line)):
        with pytest.raises(CorruptError, match="cut short"):
            read_line(line[:end])


@pytest.mark.parametrize("key", [None, *SiteKey])
def test_its_own_header_says_by_which_key_sites_are_named(key: SiteKey | None) -> None:
    assert read_header(header(key)) is key


def test_a_header_that_says_no_key_is_accepted() -> None:
    assert read_header(b'{"format":"dehusk-sites","version":1}') is None


def test_a_key_that_is_not_known_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="unknown --site-key: 'port'"):
        read_header(b'{"format":"dehusk-sites","version":1,"site_key":"port"}')


@pytest.mark.parametrize(
    ("sites", "key"),
    [
        ([], None),
        (["03a87d95c09d138b"], None),
        (["a.test", "192.0.2.1"], SiteKey.HOST),
        ([".a.test", ".b.test", "localhost"], SiteKey.DOMAIN),
        (["03a87d95c09d138b", "a.test/b"], SiteKey.PATH),
    ],
)
def test_the_key_is_told_by_most_of_the_names(sites: list[str], key: SiteKey | None) -> None:
    assert prevailing_key(sites) is key


@pytest.mark.parametrize("line", [b"", b"\n", b"{}", b"[]", b"1", b"\xff", b'{"format":"other","version":1}'])
def test_what_does_not_begin_as_an_export_is_refused(line: bytes) -> None:
    with pytest.raises(ConfigurationError, match="no export of sites"):
        read_header(line)


@pytest.mark.parametrize("version", [2, 0, "1"])
def test_an_export_of_another_version_is_refused(version: object) -> None:
    with pytest.raises(ConfigurationError, match=f"version {version}, and this dehusk reads version 1"):
        read_header(orjson.dumps({"format": "dehusk-sites", "version": version}))
