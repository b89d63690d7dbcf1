"""Compressed bodies, inflated no further than a page may be."""

import re
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
import zstandard

from schemas.errors import PageError
from schemas.outcomes import BrokenReason

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_CODINGS_AT_MOST = 4
_SEPARATORS = re.compile(r"[,\s]+")
_ERRORS = (zlib.error, brotli.error, zstandard.ZstdError, EOFError)


def inflate(body: bytes, encoding: str | None, limit: int) -> bytes:
    """The body without the content codings of a `Content-Encoding`, e.g. `gzip` or `gzip, br`.

    Crawlers often keep the header of a body that they inflated themselves: what does not look like the coding
    is taken as it is. A coding of another name is none.

    Raises:
        PageError: the body ends early or is damaged, or it grows beyond `limit` bytes.
    """
    codings = _SEPARATORS.split((encoding or "").strip().lower())
    if len(codings) > _CODINGS_AT_MOST:
        raise PageError(BrokenReason.MALFORMED_COMPRESSION, f"{len(codings)} content codings")
    for coding in reversed(codings):
        recognise, decode = _CODINGS.get(coding, _IDENTITY)
        if recognise(body):
            body = _inflated(body, coding, decode, limit)
    return body


def _inflated(body: bytes, coding: str, decode: "_Decode", limit: int) -> bytes:
    try:
        inflated = decode(body, limit + 1)
    except _ERRORS as error:
        raise PageError(
            BrokenReason.MALFORMED_COMPRESSION, f"the {coding} body is damaged: {error}"
        ) from error
    if len(inflated) > limit:
        raise PageError(BrokenReason.INFLATES_TOO_LARGE, f"the {coding} body grows beyond {limit:,} bytes")
    return inflated


_Decode = Callable[[bytes, int], bytes]
"""Inflates a body to at most as many bytes as it is told; raises one of _ERRORS."""


def _gzip(body: bytes, at_most: int) -> bytes:
    """All members of a gzip body; what follows them is ignored, as browsers do."""
    inflated = bytearray()
    while body.startswith(_GZIP) and len(inflated) < at_most:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        inflated += member.decompress(body, at_most - len(inflated))
        if not member.eof and len(inflated) < at_most:
            raise EOFError("it ends early")
        body = member.unused_data
    return bytes(inflated)


def _deflate(body: bytes, at_most: int) -> bytes:
    """A zlib body, or one of bare deflate, which servers send by the same name."""
    decoder = zlib.decompressobj(zlib.MAX_WBITS if _is_zlib(body) else -zlib.MAX_WBITS)
    inflated = decoder.decompress(body, at_most)
    if not decoder.eof and len(inflated) < at_most:
        raise EOFError("it ends early")
    return inflated


def _brotli(body: bytes, at_most: int) -> bytes:
    decoder = brotli.Decompressor()
    inflated = bytearray(decoder.process(body, output_buffer_limit=at_most))
    while len(inflated) < at_most and not decoder.can_accept_more_data() and not decoder.is_finished():
        inflated += decoder.process(b"", output_buffer_limit=at_most - len(inflated))
    if not decoder.is_finished() and len(inflated) < at_most:
        raise EOFError("it ends early")
    return bytes(inflated)


def _zstd(body: bytes, at_most: int) -> bytes:
    reader = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(body, read_across_frames=True)
    inflated = reader.read(at_most)
    if not inflated:
        raise EOFError("it ends early")
    return inflated


def _is_zlib(body: bytes) -> bool:
    return len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2]) % 31 == 0


def _is_no_text(body: bytes) -> bool:
    """Whether the body is something else than markup, which begins with `<`: these codings have no mark."""
    return bool(body) and not body.lstrip(b"\xef\xbb\xbf\t\n\r\x0c ").startswith(b"<")


def _none(body: bytes, _at_most: int) -> bytes:
    return body


_IDENTITY: tuple[Callable[[bytes], bool], _Decode] = (lambda _body: False, _none)
_CODINGS: dict[str, tuple[Callable[[bytes], bool], _Decode]] = {
    "gzip": (lambda body: body.startswith(_GZIP), _gzip),
    "x-gzip": (lambda body: body.startswith(_GZIP), _gzip),
    "deflate": (_is_no_text, _deflate),
    "br": (_is_no_text, _brotli),
    "zstd": (lambda body: body.startswith(_ZSTD), _zstd),
}
"""For each coding, how a body is known to have it, and what inflates it."""
