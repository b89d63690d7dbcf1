"""What Redis keeps of a site, sound and damaged."""

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.sites.stored import CorruptError, State, StoredSample, unpack_site, unpack_state

KEY = bytes([3, 0, 0, 0, 9])
OTHER = bytes([255, 1, 2, 3, 4])


def packed(value: object) -> bytes:
    answer: bytes = msgpack.packb(value, use_bin_type=False)
    return answer


def state(*numbers: int) -> bytes:
    return np.array(numbers, ">u4").tobytes()


def entry(key: bytes, pages: int, more: int = 0) -> bytes:
    return key[1:] + pages.to_bytes(2, "big") + bytes(more)


FIELDS = {
    b"state": state(2, 0, 1, 2, 1),
    b"texts": packed({4: entry(KEY, 2), 256: entry(OTHER, 1)}),
    b"structures": packed({1: entry(KEY, 2, 10)}),
    b"pages": KEY + OTHER,
    b"samples": packed(
        [[OTHER, b"rare", 1, 0, 2], [KEY, "Über".encode(), 2, 3, 1], [b"gone?", b"", 9, 0, 0]]
    ),
    b"name": "é.test".encode(),
}


def test_a_site_is_read() -> None:
    site = unpack_site(FIELDS)
    assert (site.name, site.state, site.texts, site.structures) == ("é.test", State(2, 0, 1, 2, 1), 2, 1)
    assert site.samples == (
        StoredSample("Über", 2, 3, 1),
        StoredSample("rare", 1, 0, 2),
        StoredSample("", 0, 0, 0),
    )


def test_groups_of_all_first_bytes_are_a_list() -> None:
    groups = [entry(bytes([first, 0, 0, 0, 9]), first) for first in range(256)]
    keep = {**FIELDS, b"texts": packed(groups)}
    site = unpack_site(keep)
    assert (site.texts, site.samples[0].pages) == (256, 3)


def test_a_site_without_names_and_samples_is_read() -> None:
    site = unpack_site({b"state": state(0, 0, 0)})
    assert (site.name, site.texts, site.structures, site.samples) == (None, 0, 0, ())
    assert site.state == State(0, 0, 0, None, None)


@pytest.mark.parametrize(
    "damaged",
    [
        {b"state": None},
        {b"state": b"abc"},
        {b"texts": b"\xc1"},
        {b"texts": b""},
        {b"texts": packed(7)},
        {b"texts": packed({1: b"12345"})},
        {b"texts": packed({1: b""})},
        {b"texts": packed({0: entry(KEY, 2)})},
        {b"texts": packed({257: entry(KEY, 2)})},
        {b"texts": packed({b"a": entry(KEY, 2)})},
        {b"structures": FIELDS[b"structures"][:-1]},
        {b"pages": KEY[1:]},
        {b"pages1": OTHER},
        {b"samples": packed(3)},
        {b"samples": packed([[KEY, b"a"]])},
        {b"samples": packed([[KEY, 1, 1, 1, 1]])},
        {b"samples": packed([[KEY, b"a", 1, b"many", 1]])},
        {b"samples": packed([[[], b"a", 1, 1, 1]])},
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
        assert site.state == unpack_state((FIELDS | fields)[b"state"])
