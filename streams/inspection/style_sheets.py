"""Style sheets that a page links to, loaded in place of the browser, which asks no other host for anything.

A page may link to anything, so only addresses of the public internet are connected to, whatever name leads to
them: those of this machine, of a private network or of a cloud's metadata are refused.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from errno import EACCES
from functools import partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp

from dehusk.streams.settings import KIB, MIB
from dehusk.streams.wording import printable

_SECONDS = 10.0
_MAX_BYTES = 512 * KIB
_MAX_ALL_CHARACTERS = 4 * MIB
_MAX_REDIRECTIONS = 3
_AT_ONCE = 6
_CHUNK_BYTES = 64 * KIB
_MAX_SHOWN = 300
_TRANSLATED = tuple(map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96")))
Address = IPv4Address | IPv6Address
IsAllowed = Callable[[Address], bool]


@dataclass(frozen=True, slots=True)
class StyleSheet:
    """A style sheet, or the reason why there is none."""

    url: str
    text: str = ""
    error: str | None = None


Fetch = Callable[[Sequence[str]], Awaitable[list[StyleSheet]]]
"""Loader of style sheets by their URLs; it answers each, in order, and raises nothing."""


class _RefusedError(Exception):
    """A style sheet that is not loaded; the message has the reason."""


def is_public(address: Address) -> bool:
    """Return True for an address of the public internet, and not for one that holds another address."""
    if isinstance(address, IPv6Address):
        holds_another = address.ipv4_mapped or address.sixtofour or address.teredo
        if holds_another or address.is_site_local or any(address in network for network in _TRANSLATED):
            return False
    return address.is_global and not address.is_multicast


async def fetch_style_sheets(urls: Sequence[str], is_allowed: IsAllowed = is_public) -> list[StyleSheet]:
    """Load style sheets, each of at most 512 KiB, from addresses that are allowed."""
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=_AT_ONCE, socket_factory=partial(_open_socket, is_allowed)),
        timeout=aiohttp.ClientTimeout(total=_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
    ) as session:
        loaded = await asyncio.gather(*(_fetch(session, url) for url in urls))
    left, kept = _MAX_ALL_CHARACTERS, []
    for sheet in loaded:
        left -= len(sheet.text)
        kept.append(sheet if left >= 0 else StyleSheet(sheet.url, error="all of them are too large"))
    return kept


def _open_socket(
    is_allowed: IsAllowed, connection: tuple[Any, Any, int, str, tuple[Any, ...]]
) -> socket.socket:
    """Open a socket for a connection to an address, the only way in which any is made.

    Raises:
        OSError: it is not allowed.
    """
    family, kind, protocol, _, (host, *_) = connection
    try:
        allowed = is_allowed(ip_address(host.partition("%")[0]))
    except ValueError:
        allowed = False
    if not allowed:
        raise OSError(EACCES, f"{host} is no address of the public internet")
    return socket.socket(family, kind, protocol)


async def _fetch(session: aiohttp.ClientSession, url: str) -> StyleSheet:
    shown = printable(url[:_MAX_SHOWN])
    try:
        return StyleSheet(shown, await _text(session, url))
    except TimeoutError:
        return StyleSheet(shown, error=f"no answer within {_SECONDS:g} s")
    except (_RefusedError, aiohttp.ClientError, ValueError, OSError) as error:
        return StyleSheet(shown, error=printable(str(error)[:_MAX_SHOWN]) or type(error).__name__)


async def _text(session: aiohttp.ClientSession, url: str) -> str:
    """Load a style sheet, and follow redirections.

    Raises:
        _RefusedError: it is none, or too large.
        aiohttp.ClientError, TimeoutError, ValueError, OSError: it does not come.
    """
    for _ in range(_MAX_REDIRECTIONS + 1):
        if urlsplit(url).scheme not in ("http", "https"):
            raise _RefusedError("its address is not of http or https")
        async with session.get(url, allow_redirects=False) as answer:
            if answer.status in (301, 302, 303, 307, 308) and "Location" in answer.headers:
                url = urljoin(url, answer.headers["Location"])
                continue
            if answer.status != 200:
                raise _RefusedError(f"its server answers with the status {answer.status}")
            if answer.content_type != "text/css":
                raise _RefusedError(f"it is {answer.content_type}, and not text/css")
            return _decoded(await _body(answer), answer.charset)
    raise _RefusedError("it is redirected too often")


async def _body(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in answer.content.iter_chunked(_CHUNK_BYTES):
        body += chunk
        if len(body) > _MAX_BYTES:
            raise _RefusedError(f"it has more than {_MAX_BYTES:,} bytes")
    return bytes(body)


def _decoded(body: bytes, charset: str | None) -> str:
    """Decode a style sheet by its charset, if that is known, else as UTF-8."""
    try:
        return body.decode(charset or "utf-8-sig", "replace")
    except LookupError:
        return body.decode("utf-8-sig", "replace")
