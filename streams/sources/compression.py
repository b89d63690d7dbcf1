"""Compressed bodies, inflated no further than a page may be."""

import lzma
import re
import zlib
from collections.abc import Callable
from typing import Any

import zstandard

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.settings import MIB

DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error, zstandard.ZstdError)
"""Errors of reading a compressed stream that is cut off, or whose bytes were changed."""
GZIP = b"\x1f\x8b"
"""Beginning of every gzip body."""
ZSTD = b"\x28\xb5\x2f\xfd"
_MARKS = {GZIP: "gzip", ZSTD: "zstd"}
_MAX_CODINGS = 4
_ZSTD_WINDOW = 8 * MIB
"""Window that a decoder of the content coding need support (RFC 9659)."""
_ZSTD_STEP = 64
"""Bytes after which the size of the inflated body is checked: they inflate to 2 MiB at most."""
_MAX_MEMBERS = 64
_BINARY_DATA_BYTES = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
"""Bytes that no text has (the MIME Sniffing standard, section 3), and compressed bytes soon do."""
_LOOKED_AT = 512
_START = 2048
_SEPARATORS = re.compile(r"[,\s]+")


class _DamagedError(Exception):
    """A body that is not of its coding."""


_ERRORS = (zlib.error, zstandard.ZstdError, EOFError, _DamagedError)


def inflate(body: bytes, encoding: str | None, limit: int) -> bytes:
    """Return the body without the content codings of a `Content-Encoding`, e.g. `gzip` or `gzip, br`.

    Crawlers often keep the header of a body that they inflated themselves: what does not look like the coding
    is taken as it is, unless it has the mark of gzip or zstd. A coding of another name is none.

    Raises:
        PageError: the body ends early or is damaged, or it grows beyond `limit` bytes.
    """
    codings = _SEPARATORS.split((encoding or "").strip().lower())
    if len(codings) > _MAX_CODINGS:
        raise PageError(BrokenReason.MALFORMED_COMPRESSION, f"{len(codings)} content codings")
    for coding in reversed(codings):
        if coding in _CODINGS:
            body = _inflate(body, coding, limit)
    return body


def coding_of(body: bytes) -> str | None:
    """Return the content coding whose mark a body begins with; None if it has none."""
    return next((coding for mark, coding in _MARKS.items() if body.startswith(mark)), None)


def start_of(body: bytes) -> bytes:
    """Return the first bytes of the content of a body with the mark of a coding; empty for any other body."""
    try:
        match coding_of(body):
            case "gzip":
                return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, _START)
            case "zstd":
                with zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).stream_reader(body) as reader:
                    return reader.read(_START)
    except (zlib.error, zstandard.ZstdError):
        pass
    return b""


def is_binary(body: bytes) -> bool:
    """Return True if a body begins with bytes that no text has."""
    return binary_data_bytes(body[:_LOOKED_AT]) > 0


def binary_data_bytes(head: bytes) -> int:
    """Count the bytes that no text has."""
    return len(head) - len(head.translate(None, _BINARY_DATA_BYTES))


def _inflate(body: bytes, coding: str, limit: int) -> bytes:
    """Return the body without a coding, or without that whose mark it has in spite of its header."""
    recognise, decode = _CODINGS[coding]
    marked = coding_of(body)
    if not recognise(body):
        return body if marked is None else _inflate(body, marked, limit)
    try:
        inflated = decode(body, limit + 1)
    except _ERRORS as error:
        if marked not in (None, coding):
            return _inflate(body, marked, limit)
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
"""Inflates a body to no more bytes than a limit; raises one of _ERRORS."""


def _gzip(body: bytes, limit: int) -> bytes:
    """Inflate all members of a gzip body; what follows them is ignored, as browsers do."""
    inflated, members = bytearray(), 0
    while body.startswith(GZIP) and len(inflated) < limit:
        if members == _MAX_MEMBERS:
            raise EOFError(f"more than {_MAX_MEMBERS} members")
        members += 1
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        inflated += member.decompress(body, limit - len(inflated))
        if not member.eof and len(inflated) < limit:
            raise EOFError("it ends early")
        body = member.unused_data
    return bytes(inflated)


def _deflate(body: bytes, limit: int) -> bytes:
    """Inflate a zlib body, or one of bare deflate, which servers send by the same name."""
    decoder = zlib.decompressobj(zlib.MAX_WBITS if _is_zlib(body) else -zlib.MAX_WBITS)
    inflated = decoder.decompress(body, limit)
    if not decoder.eof and len(inflated) < limit:
        raise EOFError("it ends early")
    return inflated


def _brotli(body: bytes, limit: int) -> bytes:
    import brotli  # type: ignore[import-untyped]  # noqa: PLC0415 only a header says that a body is so compressed

    try:
        return _inflate_brotli(brotli.Decompressor(), body, limit)
    except brotli.error as error:
        raise _DamagedError(str(error)) from error


def _inflate_brotli(decoder: Any, body: bytes, limit: int) -> bytes:  # noqa: ANN401 it has no types
    inflated = bytearray(decoder.process(body, output_buffer_limit=limit))
    while len(inflated) < limit and not decoder.can_accept_more_data() and not decoder.is_finished():
        inflated += decoder.process(b"", output_buffer_limit=limit - len(inflated))
    if not decoder.is_finished() and len(inflated) < limit:
        raise EOFError("it ends early")
    return bytes(inflated)


def _zstd(body: bytes, limit: int) -> bytes:
    """Inflate all frames of a zstd body in steps, as its decoder knows no limit."""
    inflated, frames = bytearray(), 0
    while body.startswith(ZSTD) and len(inflated) < limit:
        if frames == _MAX_MEMBERS:
            raise EOFError(f"more than {_MAX_MEMBERS} frames")
        frames += 1
        frame = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
        for end in range(_ZSTD_STEP, len(body) + _ZSTD_STEP, _ZSTD_STEP):
            inflated += frame.decompress(body[end - _ZSTD_STEP : end])
            if frame.eof or len(inflated) >= limit:
                break
        if not frame.eof and len(inflated) < limit:
            raise EOFError("it ends early")
        body = frame.unused_data + body[end:]
    return bytes(inflated)


def _is_zlib(body: bytes) -> bool:
    return len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2]) % 31 == 0


def _is_no_text(body: bytes) -> bool:
    """Return True if the body is no markup, which begins with `<`: these codings have no mark."""
    return bool(body) and not body.lstrip(b"\xef\xbb\xbf\t\n\r\x0c ").startswith(b"<")


_CODINGS: dict[str, tuple[Callable[[bytes], bool], _Decode]] = {
    "gzip": (lambda body: body.startswith(GZIP), _gzip),
    "x-gzip": (lambda body: body.startswith(GZIP), _gzip),
    "deflate": (_is_no_text, _deflate),
    "br": (_is_no_text, _brotli),
    "zstd": (lambda body: body.startswith(ZSTD), _zstd),
}
"""For each coding, the test that a body has it, and the function that inflates it."""
