import gzip
import tracemalloc
import zlib

import brotli
import pytest
import zstandard

from schemas.errors import PageError
from schemas.outcomes import BrokenReason
from streams.sources.compression import inflate

PAGE = b"<p>text of a page</p>" * 500
LIMIT = 1 << 20
COMPRESSED = [
    ("gzip", gzip.compress(PAGE)),
    ("x-gzip", gzip.compress(PAGE[:100]) + gzip.compress(PAGE[100:])),
    ("GZIP", gzip.compress(PAGE) + b"trailing bytes"),
    ("deflate", zlib.compress(PAGE)),
    ("deflate", zlib.compress(PAGE)[2:-4]),
    ("br", brotli.compress(PAGE)),
    ("zstd", zstandard.compress(PAGE)),
    ("zstd", zstandard.ZstdCompressor(write_content_size=False).compress(PAGE)),
    ("gzip, br", brotli.compress(gzip.compress(PAGE))),
]


@pytest.mark.parametrize(("coding", "body"), COMPRESSED)
def test_bodies_are_inflated(coding, body):
    assert inflate(body, coding, LIMIT) == PAGE


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
    [(coding, body[: len(body) // 2]) for coding, body in COMPRESSED if coding not in ("x-gzip", "GZIP")],
)
def test_a_body_that_ends_early_is_refused(coding, body):
    with pytest.raises(PageError) as refusal:
        inflate(body, coding, LIMIT)
    assert refusal.value.reason is BrokenReason.MALFORMED_COMPRESSION


@pytest.mark.parametrize(
    ("coding", "bomb"),
    [
        ("gzip", gzip.compress(bytes(64 << 20))),
        ("deflate", zlib.compress(bytes(64 << 20))),
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
