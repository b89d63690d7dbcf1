"""Sites as lines of JSON: what one Redis has counted, for another to begin with.

The first line names the format, its version, which is that of the layout in Redis, and the `SiteKey` by which
most of the sites are named, or null. Each other line is a site: `site`
as its key names it, `milliseconds` that it had to live, or null, and its `fields`, in base64.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator

import orjson

from dehusk.inference.sites import SiteKey
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.sites.catalogue import Catalogue, Fields, Unreadable, WholeSite
from dehusk.streams.sites.redis_store import PLAIN_SITE
from dehusk.streams.sites.stored import CorruptError, State, unpack_site
from dehusk.streams.sources.compression import GZIP

FORMAT = "dehusk-sites"
VERSION = 1
_FIELD = re.compile(rb"[a-z]+[0-9]*")


def header(key: SiteKey | None) -> bytes:
    """The first line."""
    parts = {"format": FORMAT, "version": VERSION, "site_key": key}
    return orjson.dumps(parts, option=orjson.OPT_APPEND_NEWLINE)


async def export_all(catalogue: Catalogue) -> AsyncGenerator[bytes | Unreadable, None]:
    """The lines of all sites. Raises what `Catalogue.names` raises."""
    async for found in catalogue.names():
        for unreadable in (each for each in found if isinstance(each, Unreadable)):
            yield unreadable
        async for line in export([each for each in found if isinstance(each, str)], catalogue):
            yield line


async def export(sites: list[str], catalogue: Catalogue) -> AsyncGenerator[bytes | Unreadable, None]:
    """The lines of sites, without those of which nothing is kept, and what is damaged instead."""
    async for whole in catalogue.read(sites):
        if isinstance(whole, Unreadable):
            yield whole
            continue
        try:
            _checked(whole.fields)
            yield _line(whole)
        except CorruptError as error:
            yield Unreadable(whole.site, str(error))


def read_header(line: bytes) -> SiteKey | None:
    """The key by which most of the sites are named that follow, where the export says it.

    Raises:
        ConfigurationError: it is no export, or one of another version.
    """
    if line.startswith(GZIP):
        raise ConfigurationError("this file is compressed: zcat FILE | dehusk sites import")
    try:
        parts = orjson.loads(line)
        name, version, key = parts["format"], parts["version"], parts.get("site_key")
    except (ValueError, TypeError, KeyError, AttributeError):
        name = version = key = None
    if name != FORMAT:
        raise ConfigurationError(
            "this is no export of sites: it does not begin as `dehusk sites export` does"
        )
    if version != VERSION:
        raise ConfigurationError(
            f"this export of sites is of version {version}, and this dehusk reads version {VERSION}: "
            "import it with the dehusk that wrote it"
        )
    try:
        return None if key is None else SiteKey(key)
    except ValueError:
        raise ConfigurationError(f"this export of sites is by an unknown --site-key: {key!r}") from None


def read_line(line: bytes) -> tuple[WholeSite, State]:
    """The site of a line.

    Raises:
        CorruptError: it is none.
    """
    try:
        parts = orjson.loads(line)
        site, milliseconds, packed = parts["site"], parts["milliseconds"], parts["fields"]
        fields = {name.encode(): b64decode(value, validate=True) for name, value in packed.items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        raise CorruptError("it is no site, or cut short") from None
    if not isinstance(site, str) or not PLAIN_SITE.fullmatch(site):
        raise CorruptError("it names no site")
    if not (milliseconds is None or (type(milliseconds) is int and 0 < milliseconds < 2**53)):
        raise CorruptError("it does not say how long it has to live")
    return WholeSite(site, fields, milliseconds), _checked(fields)


def _checked(fields: Fields) -> State:
    """The state of a site whose fields are all sound.

    Raises:
        CorruptError: they are not.
    """
    if not all(_FIELD.fullmatch(name) for name in fields):
        raise CorruptError("it has fields that no worker writes")
    return unpack_site(fields).state


def _line(whole: WholeSite) -> bytes:
    fields = {name.decode(): b64encode(value).decode() for name, value in whole.fields.items()}
    parts = {"site": whole.site, "milliseconds": whole.milliseconds_left, "fields": fields}
    return orjson.dumps(parts, option=orjson.OPT_APPEND_NEWLINE)
