import gzip
import random
import tracemalloc
import zlib

import brotli
import pytest
import zstandard

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.sources.compression import inflate, start_of

PAGE = b"<p>text of a page</p>" * 500
LIMIT = 1 << 20
NOISE = random.Random(7).randbytes(300_000)
WIDE_WINDOW = b"".join(
    (
        (
            wide := zstandard.ZstdCompressor(
                compression_params=zstandard.ZstdCompressionParameters(window_log=27)
            ).compressobj()
        ).compress(PAGE),
        wide.flush(),
    )
)
COMPRESSED = [
    ("gzip", gzip.compress(PAGE, mtime=0)),
    ("x-gzip", gzip.compress(PAGE[:100], mtime=0) + gzip.compress(PAGE[100:], mtime=0)),
    ("GZIP", gzip.compress(PAGE, mtime=0) + b"trailing bytes"),
    ("deflate", zlib.compress(PAGE)),
    ("deflate", zlib.compress(PAGE)[2:-4]),
    ("br", brotli.compress(PAGE)),
    ("zstd", zstandard.compress(PAGE)),
    ("ZSTD", zstandard.compress(PAGE[:100]) + zstandard.compress(PAGE[100:])),
    ("zstd", zstandard.ZstdCompressor(write_content_size=False).compress(PAGE)),
    ("gzip, br", brotli.compress(gzip.compress(PAGE, mtime=0))),
]


@pytest.mark.parametrize(("coding", "body"), COMPRESSED)
def test_bodies_are_inflated(coding, body):
    assert inflate(body, coding, LIMIT) == PAGE


MARKED = [(coding, body) for coding, body in COMPRESSED if coding.lower() in ("gzip", "x-gzip", "zstd")]


@pytest.mark.parametrize("header", ["gzip", "deflate", "br", "zstd", "gzip, br", "br, br"])
@pytest.mark.parametrize(("coding", "body"), MARKED)
def test_a_body_is_inflated_by_its_mark_whatever_the_header_says(header, coding, body):
    assert inflate(body, header, LIMIT) == PAGE
    with pytest.raises(PageError) as refusal:
        inflate(body, header, len(PAGE) - 1)
    assert refusal.value.reason is BrokenReason.INFLATES_TOO_LARGE


@pytest.mark.parametrize(("coding", "body"), MARKED)
def test_the_start_of_a_body_with_a_mark_is_inflated(coding, body):
    assert PAGE.startswith(start_of(body))
    assert start_of(body)
    assert len(start_of(body)) < 5000


@pytest.mark.parametrize(
    "body",
    [b"", PAGE, brotli.compress(PAGE), zlib.compress(PAGE), b"\x1f\x8b", WIDE_WINDOW, b"\x28\xb5\x2f\xfd-"],
)
def test_there_is_no_start_of_what_has_no_mark_or_is_damaged(body):
    assert start_of(body) == b""


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "identity", "x-unknown", "", None])
def test_a_body_that_was_inflated_already_is_taken_as_it_is(coding):
    assert inflate(PAGE, coding, LIMIT) == PAGE


@pytest.mark.parametrize(("coding", "body"), COMPRESSED)
def test_a_body_beyond_the_limit_is_refused(coding, body):
    with pytest.raises(PageError) as refusal:
        inflate(body, coding, len(PAGE) - 1)
    assert refusal.value.reason is BrokenReason.INFLATES_TOO_LARGE
    assert inflate(body, coding, len(PAGE)) == PAGE


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        *(
            (coding, body[: len(body) // 2])
            for coding, body in COMPRESSED
            if coding not in ("x-gzip", "GZIP", "ZSTD")
        ),
        ("gzip", gzip.compress(b"", mtime=0) * 1000),
        ("zstd", zstandard.compress(b"") * 1000),
        ("zstd", zstandard.compress(NOISE)[:-10_000]),
        ("zstd", WIDE_WINDOW),
        ("deflate", b"\x00\x01\x02\x03"),
        ("br", b"\x00\x01\x02\x03" * 9),
    ],
)
def test_a_body_that_ends_early_or_is_damaged_is_refused(coding, body):
    with pytest.raises(PageError) as refusal:
        inflate(body, coding, LIMIT)
    assert refusal.value.reason is BrokenReason.MALFORMED_COMPRESSION


@pytest.mark.parametrize(("coding", "compress"), [("gzip", gzip.compress), ("zstd", zstandard.compress)])
def test_a_body_has_64_members_or_frames_at_most(coding, compress):
    assert inflate(compress(b"<p>") * 64, coding, LIMIT) == b"<p>" * 64
    with pytest.raises(PageError, match="more than 64"):
        inflate(compress(b"<p>") * 65, coding, LIMIT)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_words_without_markup_may_be_inflated_already(coding):
    assert inflate(b"words before <p>the markup", coding, LIMIT) == b"words before <p>the markup"


@pytest.mark.parametrize(
    ("coding", "bomb"),
    [
        ("gzip", gzip.compress(bytes(64 << 20), 1, mtime=0)),
        ("deflate", zlib.compress(bytes(64 << 20), 1)),
        ("br", brotli.compress(bytes(64 << 20), quality=1)),
        ("zstd", zstandard.compress(bytes(64 << 20))),
    ],
)
def test_a_bomb_takes_no_more_memory_than_the_limit_allows(coding, bomb):
    tracemalloc.start()
    try:
        with pytest.raises(PageError):
            inflate(bomb, coding, LIMIT)
        assert tracemalloc.get_traced_memory()[1] < 8 * LIMIT
    finally:
        tracemalloc.stop()


def test_a_long_list_of_codings_is_refused():
    with pytest.raises(PageError):
        inflate(PAGE, "gzip," * 1000, LIMIT)
