"""Compressed bodies, inflated no further than a page may be."""

import re
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
import zstandard

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.settings import MIB

GZIP = b"\x1f\x8b"
"""What every gzip body begins with."""
ZSTD = b"\x28\xb5\x2f\xfd"
_CODINGS_AT_MOST = 4
_ZSTD_WINDOW = 8 * MIB
"""What a decoder of the content coding need support (RFC 9659)."""
_ZSTD_STEP = 64
"""Bytes after which a body that grows is looked at: they inflate to 2 MiB at most."""
_MEMBERS_AT_MOST = 64
_BINARY_DATA_BYTES = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
"""Bytes that no text has (the MIME Sniffing standard, section 3), and compressed bytes soon do."""
_LOOKED_AT = 512
_START = 2048
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


def start_of_gzip(body: bytes) -> bytes:
    """The first bytes of what a gzip body holds; empty where it is none."""
    if not body.startswith(GZIP):
        return b""
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, _START)
    except zlib.error:
        return b""


def is_binary(body: bytes) -> bool:
    """Whether a body begins with bytes that no text has."""
    return binary_data_bytes(body[:_LOOKED_AT]) > 0


def binary_data_bytes(head: bytes) -> int:
    """How many of the bytes are of those that no text has."""
    return len(head) - len(head.translate(None, _BINARY_DATA_BYTES))


def _inflated(body: bytes, coding: str, decode: "_Decode", limit: int) -> bytes:
    try:
        inflated = decode(body, limit + 1)
    except _ERRORS as error:
        if not is_binary(body):
            return body
        raise PageError(
            BrokenReason.MALFORMED_COMPRESSION, f"the {coding} body is damaged: {error}"
        ) from error
    if len(inflated) > limit:
        detail = f"the {coding} body of {len(body):,} bytes grows beyond {limit:,} (--max-page-mib)"
        raise PageError(BrokenReason.INFLATES_TOO_LARGE, detail)
    return inflated


_Decode = Callable[[bytes, int], bytes]
"""Inflates a body to at most as many bytes as it is told; raises one of _ERRORS."""


def _gzip(body: bytes, at_most: int) -> bytes:
    """All members of a gzip body; what follows them is ignored, as browsers do."""
    inflated = bytearray()
    for _ in range(_MEMBERS_AT_MOST):
        if not body.startswith(GZIP) or len(inflated) >= at_most:
            return bytes(inflated)
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        inflated += member.decompress(body, at_most - len(inflated))
        if not member.eof and len(inflated) < at_most:
            raise EOFError("it ends early")
        body = member.unused_data
    raise EOFError(f"more than {_MEMBERS_AT_MOST} members")


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
    """All frames of a zstd body; inflated in steps, as its decoder knows no limit."""
    inflated = bytearray()
    for _ in range(_MEMBERS_AT_MOST):
        if not body.startswith(ZSTD) or len(inflated) >= at_most:
            return bytes(inflated)
        frame = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
        for end in range(_ZSTD_STEP, len(body) + _ZSTD_STEP, _ZSTD_STEP):
            inflated += frame.decompress(body[end - _ZSTD_STEP : end])
            if frame.eof or len(inflated) >= at_most:
                break
        if not frame.eof and len(inflated) < at_most:
            raise EOFError("it ends early")
        body = frame.unused_data + body[end:]
    raise EOFError(f"more than {_MEMBERS_AT_MOST} frames")


def _is_zlib(body: bytes) -> bool:
    return len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2]) % 31 == 0


def _is_no_text(body: bytes) -> bool:
    """Whether the body is something else than markup, which begins with `<`: these codings have no mark."""
    return bool(body) and not body.lstrip(b"\xef\xbb\xbf\t\n\r\x0c ").startswith(b"<")


def _none(body: bytes, _at_most: int) -> bytes:
    return body


_IDENTITY: tuple[Callable[[bytes], bool], _Decode] = (lambda _body: False, _none)
_CODINGS: dict[str, tuple[Callable[[bytes], bool], _Decode]] = {
    "gzip": (lambda body: body.startswith(GZIP), _gzip),
    "x-gzip": (lambda body: body.startswith(GZIP), _gzip),
    "deflate": (_is_no_text, _deflate),
    "br": (_is_no_text, _brotli),
    "zstd": (lambda body: body.startswith(ZSTD), _zstd),
}
"""For each coding, how a body is known to have it, and what inflates it."""
