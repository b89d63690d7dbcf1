"""A site as Redis keeps it, unpacked for people, and as a line of an export.

The layout in Redis is in `observe.lua` and `samples.lua`. An export is lines of JSON. The first one holds the
format, its version, which is that of the layout, and the `SiteKey` by which most of the sites are named, or
null. Each other line is a site: its name in its key as `site`, the time that it had to live as
`milliseconds`, or null, and its `fields` in base64.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Annotated, Any

import msgpack  # type: ignore[import-untyped]
import msgspec
import numpy as np
from msgspec import Meta, Struct

from dehusk.inference.sites import SiteKey
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.sites.copies import MAX_KEYS
from dehusk.streams.sites.redis_store import LAYOUT, PLAIN_SITE
from dehusk.streams.sites.tally import KEY_BYTES
from dehusk.streams.sources.compression import GZIP
from dehusk.streams.wording import pluralize

TEXT_BYTES = KEY_BYTES - 1 + 2
"""Size of an entry: the key without its first byte, and the pages."""
STRUCTURE_BYTES = TEXT_BYTES + 4 + 6
"""Size of an entry: as of a text, the blocks, and the sum of their probabilities."""
_GROUPS = 32
_NO_ENTRIES = bytes(2 * _GROUPS)
"""Sizes of the groups of an empty field, two bytes each."""
_STATE_BYTES = 24
FORMAT = "dehusk-sites"
_FIELD = re.compile(rb"state|texts|structures|samples|name|pages(?:[0-9]|[1-5][0-9]|6[0-3])?")
Fields = Mapping[bytes, bytes]
"""Hash of a site."""


class CorruptError(Exception):
    """Damage of a stored site."""


@dataclass(frozen=True, slots=True)
class SiteSizes:
    """Sizes of a site."""

    pages: int
    texts_floor: int
    """Greatest error of the count of a text, which is too low as rarer texts were forgotten; else 0."""
    structures_floor: int
    texts: int
    """Number of texts that are kept."""
    structures: int


@dataclass(frozen=True, slots=True)
class StoredSample:
    """A text of a site, and its counts."""

    text: str
    pages: int
    """Pages that have it; 0 if it was forgotten among rarer ones."""
    dropped: int
    """Documents that lack it because of the site's statistics."""
    saved: int
    """Documents that have it because of them."""


@dataclass(frozen=True, slots=True)
class WholeSite:
    """All that is kept of a site."""

    site: str
    fields: Fields = field(repr=False)
    milliseconds_left: int | None


@dataclass(frozen=True, slots=True)
class StoredSite:
    """All that is known of a site."""

    name: str | None
    """The name, if its key does not hold it and a worker has written it."""
    sizes: SiteSizes
    samples: tuple[StoredSample, ...]
    """Samples, first those that changed the most documents, then those on the most pages."""


def unpack_sizes(packed: bytes | None) -> SiteSizes:
    """Unpack the field `state`.

    Raises:
        CorruptError: it is none.
    """
    if packed is None or len(packed) != _STATE_BYTES:
        raise CorruptError("it has no state that a worker wrote")
    return SiteSizes(*np.frombuffer(packed, ">u4", 5).tolist())


def unpack_name(packed: bytes | None) -> str | None:
    """Unpack the field `name`."""
    return None if packed is None else packed.decode("utf-8", "replace")


def unpack_site(fields: Fields) -> StoredSite:
    """Unpack all fields of a site.

    Raises:
        CorruptError: one is missing or damaged.
    """
    sizes = unpack_sizes(fields.get(b"state"))
    texts = _split_groups(fields, b"texts", TEXT_BYTES, sizes.pages)
    _split_groups(fields, b"structures", STRUCTURE_BYTES, sizes.pages)
    _check_pages(fields, sizes.pages)
    samples = sorted(_samples(fields, texts), key=lambda each: (each.dropped + each.saved, each.pages))
    return StoredSite(unpack_name(fields.get(b"name")), sizes, tuple(reversed(samples)))


def _split_groups(fields: Fields, field: bytes, width: int, pages: int) -> dict[int, bytes]:
    """Return the entries of a field by the first byte of their keys.

    Raises:
        CorruptError: the groups do not fit the entries, or one is on none of the pages, or on more.
    """
    packed = fields.get(field, _NO_ENTRIES)
    if len(packed) < len(_NO_ENTRIES):
        raise CorruptError(f"its {field.decode()} are damaged")
    sizes = (np.frombuffer(packed, ">u2", _GROUPS).astype(int) * width).tolist()
    ends = list(accumulate(sizes, initial=len(_NO_ENTRIES)))
    if ends[-1] != len(packed):
        raise CorruptError(f"its {field.decode()} are damaged")
    entries = np.frombuffer(packed, np.uint8, offset=len(_NO_ENTRIES)).reshape(-1, width)
    counts = entries[:, KEY_BYTES - 1 : TEXT_BYTES].copy().view(">u2")
    if counts.size and not 0 < counts.min() <= counts.max() <= pages:
        raise CorruptError(f"it counts {pluralize(pages, 'page')}, and {field.decode()} on none or on more")
    return {first: packed[ends[first] : ends[first] + size] for first, size in enumerate(sizes) if size}


def _count_pages(groups: Mapping[int, bytes], key: bytes) -> int:
    """Return the number of pages that have the text of a key; 0 if it is not kept."""
    group, rest = groups.get(key[0], b""), key[1:]
    for at in range(0, len(group), TEXT_BYTES):
        if group[at : at + len(rest)] == rest:
            return int.from_bytes(group[at + len(rest) : at + TEXT_BYTES], "big")
    return 0


def _check_pages(fields: Fields, pages: int) -> None:
    """Check that the keys of pages and contents are whole, and no more than those of the pages.

    Raises:
        CorruptError: they are not.
    """
    keys = sum(len(value) for name, value in fields.items() if name.startswith(b"pages"))
    if keys % KEY_BYTES or keys > pages * (1 + MAX_KEYS) * KEY_BYTES:
        raise CorruptError(f"it counts {pluralize(pages, 'page')}, and has the keys of {keys / KEY_BYTES:g}")


def _samples(fields: Fields, texts: Mapping[int, bytes]) -> Iterator[StoredSample]:
    if b"samples" not in fields:
        return
    try:
        packed = msgpack.unpackb(fields[b"samples"], raw=True, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise CorruptError(f"its samples are damaged: {str(error) or type(error).__name__}") from None
    try:
        for key, text, _, dropped, saved in packed:
            yield StoredSample(
                text.decode("utf-8", "replace"), _count_pages(texts, key), int(dropped), int(saved)
            )
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError):
        raise CorruptError("its samples are damaged") from None


class _Header(Struct):
    format: str
    version: Any
    site_key: Any = None


class _Line(Struct):
    site: Annotated[str, Meta(pattern=rf"^{PLAIN_SITE.pattern}\Z")]
    milliseconds: Annotated[int, Meta(gt=0, lt=2**53)] | None
    fields: dict[str, bytes]


def write_header(key: SiteKey | None) -> bytes:
    """Return the first line of an export."""
    return msgspec.json.encode(_Header(FORMAT, LAYOUT, key)) + b"\n"


def read_header(line: bytes) -> SiteKey | None:
    """Return the key by which most of the sites that follow are named; None if the header has none.

    Raises:
        ConfigurationError: it is no export, or one of another version.
    """
    if line.startswith(GZIP):
        raise ConfigurationError("this file is compressed: zcat FILE | dehusk sites import")
    try:
        header = msgspec.json.decode(line, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError):
        header = None
    if header is None or header.format != FORMAT:
        raise ConfigurationError(
            "this is no export of sites: it does not begin as `dehusk sites export` does"
        )
    if header.version != LAYOUT:
        raise ConfigurationError(
            f"this export of sites is of version {header.version}, and this dehusk reads version {LAYOUT}: "
            "import it with the dehusk that wrote it"
        )
    try:
        return None if header.site_key is None else SiteKey(header.site_key)
    except ValueError:
        message = f"this export of sites is by an unknown --site-key: {header.site_key!r}"
        raise ConfigurationError(message) from None


def write_line(whole: WholeSite) -> bytes:
    """Return the line of a site.

    Raises:
        CorruptError: a field of it is unknown or damaged.
    """
    _read_sizes(whole.fields)
    fields = {name.decode(): value for name, value in whole.fields.items()}
    return msgspec.json.encode(_Line(whole.site, whole.milliseconds_left, fields)) + b"\n"


def read_line(line: bytes) -> tuple[WholeSite, SiteSizes]:
    """Return the site of a line.

    Raises:
        CorruptError: it is none.
    """
    try:
        parts = msgspec.json.decode(line, type=_Line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptError(f"it is no site, or cut short: {error}") from None
    fields = {name.encode(): value for name, value in parts.fields.items()}
    return WholeSite(parts.site, fields, parts.milliseconds), _read_sizes(fields)


def _read_sizes(fields: Fields) -> SiteSizes:
    """Return the sizes of a site.

    Raises:
        CorruptError: a field of it is unknown or damaged.
    """
    if not all(_FIELD.fullmatch(name) for name in fields):
        raise CorruptError("it has fields that no worker writes")
    return unpack_site(fields).sizes
