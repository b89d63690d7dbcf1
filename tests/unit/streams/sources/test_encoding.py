import pytest

from streams.sources.encoding import DecodedText, decode_html, encode_text

PRESCANNED = [
    (b'<meta charset="windows-1251">', "windows-1251"),
    (b"<META CHARSET = koi8-r >", "koi8-r"),
    (b"<meta/charset='big5'/>", "big5"),
    (b'<meta http-equiv="Content-Type" content="text/html; charset=shift_jis">', "shift_jis"),
    (b"<meta content=\"text/html;charset = 'euc-kr'\" http-equiv=content-type>", "euc-kr"),
    (b'<meta name=x content="text/html; charset=koi8-r">', None),
    (b'<!-- <meta charset="koi8-r"> --><meta charset="big5">', "big5"),
    (b'<!--><meta charset="big5">', "big5"),
    (b'<p title="<meta charset=koi8-r>"><meta charset=big5>', "big5"),
    (b"<script>'</p>'</script><meta charset=big5>", "big5"),
    (b"<?xml version='1.0'?><meta charset=big5>", "big5"),
    (b"<!doctype html></ ><meta charset=big5>", "big5"),
    (b"<metacharset=koi8-r>", None),
    (b"<meta charset=nonsense><meta charset=big5>", "big5"),
    (b"<meta charset=koi8-r charset=big5>", "koi8-r"),
    (b"<meta charset=utf-16le>", "utf-8"),
    (b"<meta charset=x-user-defined>", "windows-1252"),
    (b"<meta charset=iso-8859-1>", "windows-1252"),
    (b"<meta charset", None),
    (b"<meta charset='koi8-r", None),
    (b"<meta charset=koi8-r", None),
    (b" " * 1001 + b"<meta charset=iso-8859-15>", None),
    (b'<meta content="charset; charset=koi8-r" http-equiv=content-type>', "koi8-r"),
    (b"<meta content='charset=\"koi8-r' http-equiv=content-type>", None),
    (b"<meta charset=nonsense http-equiv=content-type content='charset=koi8-r'>", None),
    (b"<a b='><meta charset=koi8-r>'><meta charset=big5>", "big5"),
    (b"<?xml version='1.0' encoding='windows-1251'?><html>", "windows-1251"),
    (b"<?xml version='1.0' encoding='utf-16'?><html>", "utf-8"),
    (b"<?xml version='1.0' encoding='koi8-r'?><meta charset=big5>", "big5"),
    (b" " * 1024 + b"<meta charset=koi8-r>", None),
]


@pytest.mark.parametrize(("head", "encoding"), PRESCANNED)
def test_the_first_bytes_declare_the_encoding_by_the_standards_prescan(head, encoding):
    assert decode_html(head).encoding == (encoding or "utf-8")


def test_a_byte_order_mark_wins_over_the_transport():
    assert decode_html(b"\xef\xbb\xbf\xc3\xa9", "koi8-r") == DecodedText("é".encode(), "utf-8")
    assert decode_html("\ufeff<p>é".encode("utf-16-be"), "koi8-r") == DecodedText("<p>é".encode(), "utf-16be")
    assert decode_html(b"\xff\xfe" + "é".encode("utf-16-le")) == DecodedText("é".encode(), "utf-16le")


def test_the_transport_wins_over_the_page():
    assert decode_html("<meta charset=koi8-r>é".encode(), "UTF-8").html.endswith("é".encode())


def test_labels_are_the_standards():
    assert decode_html(b"\x80", "latin1") == DecodedText("€".encode(), "windows-1252")
    assert decode_html(b"\xa4\xa2", "x-sjis").encoding == "shift_jis"
    assert decode_html(b"\xc4\xe3", " GB2312 ") == DecodedText("你".encode(), "gbk")


@pytest.mark.parametrize(
    ("body", "label", "text"),
    [
        (b"\x90\x30\x81\x30", "gbk", "\U00010000"),
        (b"\x82\xa0\x87\x40", "shift_jis", "あ①"),
        (b"\xa4\xa2\xad\xa1\xad\xea", "euc-jp", "あ①㈱"),
        (b"\xa4<p>\xff", "euc-jp", "\ufffd<p>\ufffd"),
        (b"\x81<p>", "shift_jis", "\ufffd<p>"),
        (b'\x1b$B$"\x1b(Ba', "iso-2022-jp", "あa"),
        (b"\xa4\xa4\x87\x40", "big5", "中䏰"),
        (b"\x80<p>", "x-user-defined", "\uf780<p>"),
    ],
)
def test_legacy_encodings_are_decoded_as_the_standard_decodes_them(body, label, text):
    assert decode_html(body, label).html.decode() == text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_known_by_its_markup(encoding):
    decoded = decode_html("\n <!DOCTYPE html><p>é".encode(encoding))
    assert decoded == DecodedText("\n <!DOCTYPE html><p>é".encode(), encoding.replace("16-", "16"))


def test_a_declaration_further_on_counts_where_the_page_is_not_in_utf8():
    late = b"<html>" + b" " * 1500 + b"<meta charset=koi8-r>"
    assert decode_html(late + b"\xcf").encoding == "koi8-r"
    assert decode_html(late + "é".encode()).encoding == "utf-8"


def test_an_unknown_label_leaves_the_page_to_say():
    assert decode_html(b"<meta charset=koi8-r>\xcf", "utf-7").encoding == "koi8-r"


def test_labels_of_dangerous_encodings_give_the_replacement_character_alone():
    assert decode_html(b"<script>", "hz-gb-2312") == DecodedText("\ufffd".encode(), "replacement")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("été café déjà vu très bien, où l'on va", "windows-1252"),
        ("Größe, Übung, schön, Straße, für, über", "windows-1252"),
        ("Привет, как дела? Это русский текст.", "windows-1251"),
        ("これは日本語のテキストです。今日は天気がいいですね。", "shift_jis"),
        ("안녕하세요 한국어 텍스트입니다. 오늘은 날씨가 좋습니다.", "euc-kr"),
        ("שלום עולם, זה טקסט בעברית.", "windows-1255"),
        ("naïveté 你好", "utf-8"),
    ],
)
def test_a_page_that_declares_nothing_is_looked_at(text, encoding):
    body = b"<html>" + b" " * 2000 + text.encode(encoding)
    decoded = decode_html(body)
    assert decoded.encoding == encoding
    assert decoded.html.endswith(text.encode())


def test_malformed_utf8_becomes_replacement_characters():
    assert decode_html(b"a\xe2\x82b\xff", "utf-8").html.decode() == "a\ufffdb\ufffd"


def test_valid_utf8_is_not_copied():
    body = "<p>é".encode()
    assert decode_html(body).html is body


def test_text_loses_lone_surrogates_and_keeps_pairs():
    assert encode_text("a\ud800b") == "a\ufffdb".encode()
    assert encode_text("\ud83d\ude00") == "😀".encode()
    assert encode_text("\ufeffa\x00") == b"a\x00"
