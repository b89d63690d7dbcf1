"""Bytes that Python's codecs read otherwise than the Encoding standard."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.streams.sources.encoding import decode_html
from dehusk.streams.sources.legacy import decode

ESCAPED = [(b"\x1b$B", b"\x1b(B"), (b"\x1b$@", b"\x1b(J")]


@pytest.mark.parametrize(
    ("body", "name", "text"),
    [
        (b"\x90\x30\x81\x30", "gbk", "\U00010000"),
        (b"\x805 \xa3\xa0\xa8\xbc", "gbk", "€5 \u3000ḿ"),
        (b"\xa6\xd9\xa6\xda\xa6\xdb\xa6\xf3\xfe\x59", "gb18030", "︐︒︑︙龴"),
        (b"\x82\xa0\x87\x40\xfa\x40", "shift_jis", "あ①ⅰ"),
        (b"\x81<p>", "shift_jis", "\ufffd<p>"),
        (b"\xa4\xa2\xad\xa1\xad\xea", "euc-jp", "あ①㈱"),
        (b"\xa1\xc1\xa1\xc2\xa1\xdd\xa1\xf1\xa1\xf2\xa2\xcc", "euc-jp", "～∥－￠￡￢"),
        (b"\xa4<p>\xff\xa2\xaf!", "euc-jp", "\ufffd<p>\ufffd\ufffd\ufffd!"),
        (b"\xa4\xa4\x87\x40", "big5", "中䏰"),
        (b"\xa1\x45\xa1\x4e\xa1\xc2\xa1\xe3\xa2\x44\xa2\x46\xa2\x47\xa3\xe1", "big5", "‧﹑¯～￥￠￡€"),
        (b"\x87\x7e\x87\xa1\x87\xb5\x87\xb6\x87\xdf\xfe\xdd\x80!", "big5", "㻬𥣞晠権鿋砉\ufffd!"),
        (b"\xae\xbe", "koi8-u", "ўЎ"),
        (b"\x81\x8d\x80", "windows-1252", "\x81\x8d€"),
        (b"\xca\xd9", "windows-1255", "\u05ba\ufffd"),
        (b"\x80<p>", "x-user-defined", "\uf780<p>"),
    ],
)
def test_they_are_decoded_as_the_standard_decodes_them(body, name, text):
    assert decode(body, name) == text
    assert decode_html(body, name).html.decode() == text


@pytest.mark.parametrize(("to_jis", "to_ascii"), ESCAPED)
@pytest.mark.parametrize("text", ["あいう", "～－∥￠￡￢", "①㈱", "纊"])
def test_iso_2022_jp_has_the_characters_of_euc_jp(text, to_jis, to_ascii):
    cp932 = {"①": b"\xad\xa1", "㈱": b"\xad\xea", "纊": b"\xf9\xa1"}
    python = str.maketrans("～－∥￠￡￢", "〜−‖¢£¬")
    euc = b"".join(cp932.get(each) or each.translate(python).encode("euc_jp") for each in text)
    assert decode(euc, "euc-jp") == text
    seven_bits = bytes(byte & 0x7F for byte in euc)
    assert decode(b"a" + to_jis + seven_bits + to_ascii + b"z", "iso-2022-jp") == f"a{text}z"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"\x1b(J\\5 ~", "¥5 ‾"),
        (b"\x1b(I1\x1b(B1", "ｱ1"),
        (b'\x1b$B$"\n<p>', "あ\n腫\ufffd"),
        (b"\xe9\x1b$B\xa4\xa2\x1b(Ba", "\ufffd\ufffd\ufffda"),
        (b"\x1b$B$", "\ufffd"),
        (b"\x1b$", "\x1b$"),
    ],
)
def test_iso_2022_jp_reads_what_its_escape_sequences_say(body, text):
    assert decode(body, "iso-2022-jp") == text


@given(st.binary(), st.sampled_from(["big5", "euc-jp", "gbk", "iso-2022-jp", "windows-1255", "shift_jis"]))
def test_any_bytes_become_text(body, name):
    assert isinstance(decode(body, name), str)


def test_only_so_many_bytes_that_python_does_not_read_are_looked_at():
    assert decode(b"\x80 " * 10_000, "gb18030") == "€ " * 10_000
    assert decode(b"\x80 " * 10_001, "gb18030") == "\ufffd " * 10_001
