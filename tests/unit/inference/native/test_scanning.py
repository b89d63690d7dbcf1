import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.native.scanning import count_tags, is_utf8

PIECES = st.sampled_from(
    [
        b"\xc2",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xc0\xaf",
        b"\xe0\x9f\xbf",
        b"\xf0\x8f\xbf\xbf",
        b"\xff",
    ]
)


def is_decodable(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(st.lists(st.binary(max_size=12) | st.text(max_size=12).map(str.encode) | PIECES).map(b"".join))
def test_bytes_are_utf8_where_they_can_be_decoded(data: bytes) -> None:
    assert is_utf8(data) == is_decodable(data)


@pytest.mark.parametrize("first", range(256))
def test_every_first_byte_is_taken_as_the_standard_has_it(first: int) -> None:
    for second in (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF):
        for rest in (b"", b"\x80", b"\x80\x80", b"\x80a", b"\xbf\xbf" + b"a" * 9):
            data = bytes((first, second)) + rest
            assert is_utf8(data) == is_decodable(data), data


@given(st.binary(max_size=300) | st.lists(st.sampled_from([b"<", b"a<", b"x" * 50])).map(b"".join))
def test_every_opening_bracket_may_be_a_tag(html: bytes) -> None:
    assert count_tags(html) == html.count(b"<")
