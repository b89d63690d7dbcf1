"""What Redis keeps of a site, sound and damaged."""

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.streams.sites.stored import (
    STRUCTURE_BYTES,
    TEXT_BYTES,
    CorruptError,
    State,
    StoredSample,
    unpack_site,
    unpack_state,
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
    assert (site.name, site.state, site.texts, site.structures) == ("é.test", State(2, 0, 1, 2, 1), 2, 1)
    assert site.samples == (
        StoredSample("Über", 2, 3, 1),
        StoredSample("rare", 1, 0, 2),
        StoredSample("", 0, 0, 0),
    )


def test_the_groups_of_all_first_bytes_are_read() -> None:
    groups = {first: entry(bytes([first, 0, 0, 0, 9]), 1 + first) for first in range(32)}
    site = unpack_site({**FIELDS, b"texts": grouped(groups, TEXT_BYTES)})
    assert (site.texts, {sample.text: sample.pages for sample in site.samples}["Über"]) == (32, 4)


def test_a_site_without_names_and_samples_is_read() -> None:
    site = unpack_site({b"state": state(0, 0, 0, 0, 0, 0)})
    assert (site.name, site.texts, site.structures, site.samples) == (None, 0, 0, ())
    assert site.state == State(0, 0, 0, 0, 0)


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
