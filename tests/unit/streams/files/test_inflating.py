"""Streams without their compression."""

import bz2
import gzip
import io
import lzma
import os
import tracemalloc

import pytest
import zstandard

from dehusk.streams.files.inflating import Piped, inflated, peek
from dehusk.streams.settings import MIB
from dehusk.streams.sources.compression import DAMAGE

LINES = b"".join(b"%d %s\n" % (number, os.urandom(20).hex().encode()) for number in range(20_000))


def stream(data):
    return io.BufferedReader(io.BytesIO(data))


def in_frames(data):
    """The frames of several writers, one that states its length, and one that holds no data."""
    half = len(data) // 2
    second = zstandard.ZstdCompressor(write_content_size=False).compress(data[half:])
    return zstandard.compress(data[:half]) + skippable(0x184D2A50, b"apart") + second


def skippable(magic, content):
    return magic.to_bytes(4, "little") + len(content).to_bytes(4, "little") + content


def behind_skippable(data):
    """As pzstd writes, which puts a frame without data before each other."""
    return skippable(0x184D2A50, b"size") + zstandard.compress(data)


DICTIONARY = zstandard.train_dictionary(4096, LINES.splitlines(keepends=True))


def with_dictionary(data, compress=bytes):
    """As a `.warc.zst`, whose records are frames of a dictionary that the file begins with."""
    compressor = zstandard.ZstdCompressor(dict_data=DICTIONARY)
    half = len(data) // 2
    frames = compressor.compress(data[:half]) + compressor.compress(data[half:])
    return skippable(0x184D2A5D, compress(DICTIONARY.as_bytes())) + frames


def with_compressed_dictionary(data):
    return with_dictionary(data, zstandard.compress)


def in_members(data):
    """The members of several writers, one that holds no data, and zeros as on a tape."""
    half = len(data) // 2
    first, second = gzip.compress(data[:half]), gzip.compress(data[half:])
    return first + bytes(200_000) + gzip.compress(b"") + second + bytes(512)


def in_xz_streams(data):
    """The streams of several writers, with padding between them and at the end."""
    half = len(data) // 2
    first, second = lzma.compress(data[:half]), lzma.compress(data[half:])
    return first + bytes(200_000) + second + lzma.compress(b"") + bytes(4)


@pytest.mark.parametrize(
    "compress",
    [
        bytes,
        gzip.compress,
        in_members,
        bz2.compress,
        lzma.compress,
        in_xz_streams,
        zstandard.compress,
        in_frames,
        behind_skippable,
        with_dictionary,
        with_compressed_dictionary,
    ],
)
def test_what_was_compressed_is_read_as_it_was(compress):
    opened = inflated(stream(compress(LINES)))
    assert LINES.startswith(peek(opened))
    assert opened.readline() == LINES[: LINES.index(b"\n") + 1]
    assert opened.read() == LINES[LINES.index(b"\n") + 1 :]
    assert opened.read(1) == b""


@pytest.mark.parametrize(
    ("compress", "part"),
    [
        (zstandard.compress, "frame"),
        (in_frames, "frame"),
        (gzip.compress, "member"),
        (in_members, "member"),
        (lzma.compress, "stream"),
    ],
)
def test_what_is_cut_off_gives_what_was_before_and_an_error(compress, part):
    opened, read = inflated(stream(compress(LINES)[:-5000])), []
    with pytest.raises(EOFError, match=f"within a {part}"):
        read.extend(iter(lambda: opened.read1(100), b""))
    assert LINES.startswith(b"".join(read))
    assert len(b"".join(read)) > len(LINES) / 2


def test_white_space_without_end_is_given_in_pieces():
    class Blank(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            buffer[:] = b" " * len(buffer)
            return len(buffer)

    assert Piped(io.BufferedReader(Blank())).read(100) == b" " * 100


def test_xz_that_takes_much_memory_is_refused():
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 256 * MIB}]
    compressed = lzma.compress(b"<p>" + bytes(1000), filters=filters)
    with pytest.raises(DAMAGE, match=r"[Mm]emory"):
        inflated(stream(compressed)).read()


@pytest.mark.parametrize("compress", [zstandard.compress, gzip.compress, lzma.compress])
def test_something_else_behind_it_is_damage(compress):
    with pytest.raises(DAMAGE):
        inflated(stream(compress(LINES) + b"something else")).read()


@pytest.mark.parametrize("changed", [-1, -8, 500_000])
def test_changed_bytes_of_gzip_are_damage(changed):
    data = bytearray(gzip.compress(LINES))
    data[changed % len(data)] ^= 1
    with pytest.raises(DAMAGE):
        inflated(stream(bytes(data))).read()


@pytest.mark.parametrize("compress", [zstandard.compress, gzip.compress])
def test_what_inflates_without_end_takes_bounded_memory(compress):
    bomb = compress(bytes(512 * MIB))
    tracemalloc.start()
    try:
        opened, count = inflated(stream(bomb)), 0
        while data := opened.read(MIB):
            count += len(data)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 512 * MIB
    assert most < 80 * MIB


@pytest.mark.parametrize(
    ("data", "damage"),
    [
        (with_dictionary(LINES)[:1000], "within its dictionary"),
        (with_dictionary(LINES)[:10_000], "within a frame"),
        (b"\x5d\x2a\x4d\x18" + (2**31).to_bytes(4, "little") + bytes(16 * MIB), "more than 16 MiB"),
        (skippable(0x184D2A5D, zstandard.compress(bytes(17 * MIB))), "more than 16 MiB"),
        (skippable(0x184D2A5D, b"\x28\xb5\x2f\xfd damaged"), "corruption"),
    ],
    ids=["cut off", "cut off behind", "huge", "inflates to much", "damaged"],
)
def test_a_dictionary_that_cannot_be_read_is_damage(data, damage):
    with pytest.raises(DAMAGE, match=damage):
        inflated(stream(data)).read()
