"""A site as Redis keeps it, read for people: see `observe.lua` and `samples.lua`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import msgpack  # type: ignore[import-untyped]
import numpy as np

from dehusk.streams.counted import counted
from dehusk.streams.sites.packing import KEY_BYTES

TEXT_BYTES = KEY_BYTES - 1 + 2
"""Of an entry: the key without its first byte, and the pages."""
STRUCTURE_BYTES = TEXT_BYTES + 4 + 6
"""The same, the blocks, and the sum of their probabilities."""
_GROUPS = 32
_NO_ENTRIES = bytes(2 * _GROUPS)
"""The sizes of the groups of a field, two bytes each."""
_STATE_BYTES = 24


class CorruptError(Exception):
    """What is stored of a site is not what workers store."""


@dataclass(frozen=True, slots=True)
class State:
    """How far a site has been counted."""

    pages: int
    texts_floor: int
    """What the count of a text may be too low by, as rarer texts were forgotten; else 0."""
    structures_floor: int
    texts: int
    """Texts that are kept."""
    structures: int


@dataclass(frozen=True, slots=True)
class StoredSample:
    """A text of a site, with what is known of it."""

    text: str
    pages: int
    """Pages that are known to have it; 0 where it was forgotten among rarer ones."""
    dropped: int
    """Documents that lack it because of what is known of the site."""
    saved: int
    """Documents that have it because of that."""


@dataclass(frozen=True, slots=True)
class StoredSite:
    """What is known of a site."""

    name: str | None
    """Where its key does not say it, and a worker has said it."""
    state: State
    texts: int
    structures: int
    samples: tuple[StoredSample, ...]
    """Those that changed the most documents first, then those on the most pages."""


def unpack_state(packed: bytes | None) -> State:
    """The field `state`.

    Raises:
        CorruptError: it is none.
    """
    if packed is None or len(packed) != _STATE_BYTES:
        raise CorruptError("it has no state that a worker wrote")
    return State(*np.frombuffer(packed, ">u4", 5).tolist())


def unpack_name(packed: bytes | None) -> str | None:
    """The field `name`."""
    return None if packed is None else packed.decode("utf-8", "replace")


def unpack_site(fields: Mapping[bytes, bytes]) -> StoredSite:
    """All fields of a site.

    Raises:
        CorruptError: one is missing or damaged.
    """
    state = unpack_state(fields.get(b"state"))
    texts, structures = _groups(fields, b"texts", TEXT_BYTES), _groups(fields, b"structures", STRUCTURE_BYTES)
    _check_pages(fields, state.pages)
    samples = sorted(_samples(fields, texts), key=lambda each: (each.dropped + each.saved, each.pages))
    return StoredSite(
        unpack_name(fields.get(b"name")),
        state,
        texts=sum(map(len, texts.values())) // TEXT_BYTES,
        structures=sum(map(len, structures.values())) // STRUCTURE_BYTES,
        samples=tuple(reversed(samples)),
    )


def _groups(fields: Mapping[bytes, bytes], field: bytes, width: int) -> dict[int, bytes]:
    """The entries of a field by the first byte of their keys.

    Raises:
        CorruptError: they are not what the sizes of the groups say.
    """
    packed = fields.get(field, _NO_ENTRIES)
    if len(packed) < len(_NO_ENTRIES):
        raise CorruptError(f"its {field.decode()} are damaged")
    sizes = (np.frombuffer(packed, ">u2", _GROUPS).astype(int) * width).tolist()
    ends = list(accumulate(sizes, initial=len(_NO_ENTRIES)))
    if ends[-1] != len(packed):
        raise CorruptError(f"its {field.decode()} are damaged")
    return {first: packed[ends[first] : ends[first] + size] for first, size in enumerate(sizes) if size}


def _pages(groups: Mapping[int, bytes], key: bytes) -> int:
    """On how many pages the text of a key is; 0 if it is not kept."""
    group, rest = groups.get(key[0], b""), key[1:]
    for at in range(0, len(group), TEXT_BYTES):
        if group[at : at + len(rest)] == rest:
            return int.from_bytes(group[at + len(rest) : at + TEXT_BYTES], "big")
    return 0


def _unpacked(packed: bytes, field: bytes) -> Any:  # noqa: ANN401 whatever is packed
    try:
        return msgpack.unpackb(packed, raw=True, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise CorruptError(
            f"its {field.decode()} are damaged: {str(error) or type(error).__name__}"
        ) from None


def _check_pages(fields: Mapping[bytes, bytes], pages: int) -> None:
    """See whether there are keys of pages, and no more than pages.

    Raises:
        CorruptError: there are others.
    """
    keys = sum(len(value) for name, value in fields.items() if name.startswith(b"pages"))
    if keys % KEY_BYTES or keys > pages * KEY_BYTES:
        raise CorruptError(f"it counts {counted(pages, 'page')}, and has the keys of {keys / KEY_BYTES:g}")


def _samples(fields: Mapping[bytes, bytes], texts: Mapping[int, bytes]) -> Iterator[StoredSample]:
    packed = _unpacked(fields[b"samples"], b"samples") if b"samples" in fields else []
    try:
        for key, text, _, dropped, saved in packed:
            yield StoredSample(text.decode("utf-8", "replace"), _pages(texts, key), int(dropped), int(saved))
    except (TypeError, ValueError, AttributeError, IndexError):
        raise CorruptError("its samples are damaged") from None
