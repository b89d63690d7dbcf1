"""Statistics of a site as Redis keeps them, sound and damaged."""

import math
from base64 import b64encode

import msgpack
import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.sites import SiteKey
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.sites.catalogue import prevailing_key
from dehusk.streams.sites.stored import (
    STRUCTURE_BYTES,
    TEXT_BYTES,
    CorruptError,
    SiteSizes,
    StoredSample,
    WholeSite,
    read_header,
    read_line,
    unpack_site,
    unpack_sizes,
    write_header,
)

KEY = bytes([3, 0, 0, 0, 9])
OTHER = bytes([31, 1, 2, 3, 4])


def packed(value: object) -> bytes:
    answer: bytes = msgpack.packb(value, use_bin_type=False)
    return answer


def state(*numbers: int) -> bytes:
    return np.array(numbers, ">u4").tobytes()


def entry(key: bytes, pages: int, more: int = 0) -> bytes:
    return key[1:] + pages.to_bytes(2, "big") + bytes(more)


def grouped(groups: dict[int, bytes], width: int) -> bytes:
    """Entries by the first byte of their keys."""
    sizes = np.array([len(groups.get(first, b"")) // width for first in range(32)], ">u2")
    return sizes.tobytes() + b"".join(groups[first] for first in sorted(groups))


FIELDS = {
    b"state": state(2, 0, 1, 2, 1, 1_700_000_000),
    b"texts": grouped({3: entry(KEY, 2), 31: entry(OTHER, 1)}, TEXT_BYTES),
    b"structures": grouped({0: entry(KEY, 2, 10)}, STRUCTURE_BYTES),
    b"pages": KEY + OTHER,
    b"samples": packed(
        [[OTHER, b"rare", 1, 0, 2], [KEY, "Über".encode(), 2, 3, 1], [b"gone?", b"", 9, 0, 0]]
    ),
    b"name": "é.test".encode(),
}


def test_a_site_is_read() -> None:
    site = unpack_site(FIELDS)
    assert (site.name, site.sizes) == ("é.test", SiteSizes(2, 0, 1, 2, 1))
    assert site.samples == (
        StoredSample("Über", 2, 3, 1),
        StoredSample("rare", 1, 0, 2),
        StoredSample("", 0, 0, 0),
    )


def test_the_groups_of_all_first_bytes_are_read() -> None:
    groups = {first: entry(bytes([first, 0, 0, 0, 9]), 1 + first) for first in range(32)}
    site = unpack_site({**FIELDS, b"state": state(32, 0, 1, 32, 1, 0), b"texts": grouped(groups, TEXT_BYTES)})
    assert (site.sizes.texts, {sample.text: sample.pages for sample in site.samples}["Über"]) == (32, 4)


def test_a_site_without_names_and_samples_is_read() -> None:
    site = unpack_site({b"state": state(0, 0, 0, 0, 0, 0)})
    assert (site.name, site.sizes, site.samples) == (None, SiteSizes(0, 0, 0, 0, 0), ())
    assert site.sizes == SiteSizes(0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    "damaged",
    [
        {b"state": None},
        {b"state": b"abc"},
        {b"state": state(2, 0, 1)},
        {b"texts": b""},
        {b"texts": FIELDS[b"texts"][:63]},
        {b"texts": FIELDS[b"texts"] + b"12345"},
        {b"texts": grouped({1: entry(KEY, 2, 1)}, 1)},
        {b"texts": grouped({3: entry(KEY, 0)}, TEXT_BYTES)},
        {b"texts": grouped({3: entry(KEY, 3)}, TEXT_BYTES)},
        {b"structures": FIELDS[b"structures"][:-1]},
        {b"structures": grouped({0: entry(KEY, 3, 10)}, STRUCTURE_BYTES)},
        {b"pages": KEY[1:]},
        {b"pages1": 7 * OTHER},
        {b"samples": packed(3)},
        {b"samples": packed([[KEY, b"a"]])},
        {b"samples": packed([[KEY, 1, 1, 1, 1]])},
        {b"samples": packed([[KEY, b"a", 1, b"many", 1]])},
        {b"samples": packed([[[], b"a", 1, 1, 1]])},
        {b"samples": packed([[{1: 2}, b"a", 1, 1, 1]])},
        {b"samples": packed([[KEY, b"a", 1, math.inf, 1]])},
    ],
)
def test_what_is_damaged_is_said(damaged: dict[bytes, bytes | None]) -> None:
    fields = {name: value for name, value in {**FIELDS, **damaged}.items() if value is not None}
    with pytest.raises(CorruptError, match=r"^(it|its) "):
        unpack_site(fields)


@given(st.dictionaries(st.sampled_from(sorted(FIELDS)), st.binary(max_size=60)))
def test_whatever_is_stored_is_read_or_damaged(fields: dict[bytes, bytes]) -> None:
    try:
        site = unpack_site(FIELDS | fields)
    except CorruptError as error:
        assert str(error)  # noqa: PT017
    else:
        assert site.sizes == unpack_sizes((FIELDS | fields)[b"state"])


STATE = b64encode(bytes(24)).decode()
SITE = {"site": "a.test", "milliseconds": 1000, "fields": {"state": STATE}}


def test_a_line_is_a_site() -> None:
    assert read_line(orjson.dumps(SITE)) == (
        WholeSite("a.test", {b"state": bytes(24)}, 1000),
        SiteSizes(0, 0, 0, 0, 0),
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
        {"fields": {"state": STATE, "other": ""}},
        {"fields": {"state": STATE, "pages64": ""}},
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
    assert read_header(write_header(key)) is key


def test_a_header_that_says_no_key_is_accepted() -> None:
    assert read_header(b'{"format":"dehusk-sites","version":3}') is None


def test_a_key_that_is_not_known_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="unknown --site-key: 'port'"):
        read_header(b'{"format":"dehusk-sites","version":3,"site_key":"port"}')


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


@pytest.mark.parametrize("version", [2, 1, "3"])
def test_an_export_of_another_version_is_refused(version: object) -> None:
    with pytest.raises(ConfigurationError, match=f"version {version}.*version 3"):
        read_header(orjson.dumps({"format": "dehusk-sites", "version": version}))
