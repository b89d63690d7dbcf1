import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.streams.sources.encoding import DecodedText, decode_html, encode_text

SHORT_PAGES = [
    ("windows-1251", "Хлеб дорожает", "Сегодня на рынке свежий хлеб стоит дорого."),
    ("windows-1252", "Le café", "Où est le déjeuner, près du café d'à côté ?"),
    ("shift_jis", "パンの値段", "今日はとてもいい天気ですね。"),
    ("euc-kr", "빵값", "오늘은 날씨가 아주 좋습니다."),
]
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


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_known_by_its_markup(encoding):
    decoded = decode_html("\n <!DOCTYPE html><p>é".encode(encoding))
    assert decoded == DecodedText("\n <!DOCTYPE html><p>é".encode(), encoding.replace("16-", "16"))


def test_a_declaration_further_on_counts_where_the_page_is_not_in_utf8():
    late = b"<html>" + b" " * 1500 + b"<meta charset=koi8-r>"
    assert decode_html(late + b"\xcf").encoding == "koi8-r"
    assert decode_html(late + "é".encode()).encoding == "utf-8"
    assert decode_html(late.replace(b"koi8-r", b"utf-8") + b"\xcf").encoding == "utf-8"
    assert (
        decode_html(late.replace(b"koi8-r", b"utf-8") + b"d\xe9j\xe0 vu, tr\xe8s").encoding == "windows-1252"
    )


@pytest.mark.parametrize("label", ["utf-7", "\udcff", "kö"])
def test_an_unknown_label_leaves_the_page_to_say(label):
    assert decode_html(b"<meta charset=koi8-r>\xcf", label).encoding == "koi8-r"


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


def short_page(declared, title, sentence):
    return f"<meta charset={declared}><title>{title}</title><p>{sentence}"


@pytest.mark.parametrize(("encoding", "title", "sentence"), SHORT_PAGES)
@pytest.mark.parametrize("by_transport", [True, False])
def test_utf8_is_known_whatever_it_declares(encoding, title, sentence, by_transport):
    page = short_page("utf-8" if by_transport else encoding, title, sentence)
    decoded = decode_html(page.encode(), encoding if by_transport else None)
    assert decoded == DecodedText(page.encode(), "utf-8")


@pytest.mark.parametrize(("encoding", "title", "sentence"), SHORT_PAGES)
@pytest.mark.parametrize("transport", ["utf-8", None])
def test_what_is_called_utf8_and_is_not_is_looked_at(encoding, title, sentence, transport):
    page = short_page("utf-8", title, sentence)
    assert decode_html(page.encode(encoding), transport) == DecodedText(page.encode(), encoding)


@pytest.mark.parametrize(("encoding", "title", "sentence"), SHORT_PAGES)
def test_a_legacy_page_is_what_it_declares(encoding, title, sentence):
    page = short_page(encoding, title, sentence)
    assert decode_html(page.encode(encoding)) == DecodedText(page.encode(), encoding)


def test_a_page_says_what_it_is_where_the_transport_is_wrong():
    page = short_page("windows-874", "ขนมปัง", "วันนี้อากาศดี")
    assert decode_html(page.encode("cp874"), "utf-8") == DecodedText(page.encode(), "windows-874")


@pytest.mark.parametrize("declared", ["utf-8", None])
@pytest.mark.parametrize("broken", [b"caf\xe9", b"\xff", "é".encode()[:1], "値".encode()[:2]])
def test_utf8_stays_utf8_where_a_byte_is_broken_or_its_end_is_missing(declared, broken):
    page = "<p>Déjà vu. ".encode()
    for body in (page + broken, broken + page):
        decoded = decode_html(body, declared)
        assert decoded == DecodedText(body.decode(errors="replace").encode(), "utf-8")


STRAY = b"\xe9\xff\xe8"


@pytest.mark.parametrize(
    "broken",
    [
        b"<!-- %b -->" % STRAY,
        b"<script>'<p>%b'</script>" % STRAY,
        b"<STYLE>/* %b */</STYLE >" % STRAY,
        b"<p title='> %b'>" % STRAY,
        b"<a href=/%b>" % STRAY,
        STRAY,
        b"%b text %b" % (STRAY, STRAY),
    ],
)
@pytest.mark.parametrize("valid", ["é", "it’s déjà vu"])
def test_declared_utf8_stays_utf8_where_its_text_is_broken_in_two_places_at_most(broken, valid):
    body = b"<meta charset=utf-8><p>%b %b" % (valid.encode(), broken)
    assert decode_html(body) == DecodedText(body.decode(errors="replace").encode(), "utf-8")
    assert decode_html(body, "utf-8").encoding == "utf-8"


def test_valid_characters_of_scripts_are_not_the_texts():
    body = "<script>'été, déjà vu'</script><!-- été, déjà vu --><p title='été, déjà vu'>".encode()
    text = "où est le café, près d'ici"
    decoded = decode_html(body + text.encode("windows-1252"), "utf-8")
    assert decoded.encoding == "windows-1252"
    assert decoded.html.endswith(text.encode())


@pytest.mark.parametrize("opening", [b"<!--", b"<script", b"<a b='", b'<a b="', b"<!", b"<a b"])
def test_markup_that_never_ends_is_read_in_linear_time(opening):
    decoded = decode_html("é".encode() + opening * 200_000 + STRAY, "utf-8")
    assert decoded.encoding == "utf-8"


def test_a_legacy_page_is_looked_at_as_a_whole_where_all_of_it_is_markup():
    page = "<meta charset=utf-8><p don't>où est le café, près de là, déjà vu à côté"
    assert decode_html(page.encode("windows-1252")).html == page.encode()


def test_a_legacy_encoding_is_trusted_with_what_is_utf8_by_chance():
    assert decode_html(b"BEYONC\xc9\x92S", "windows-1252").html == "BEYONCÉ’S".encode()


@pytest.mark.parametrize("encoding", ["utf-16le", "iso-2022-jp"])
def test_encodings_that_do_not_hold_ascii_are_trusted(encoding):
    assert decode_html("été, déjà vu".encode(), encoding).encoding == encoding


@given(st.text(), st.sampled_from([None, "utf-8"]))
def test_valid_utf8_is_as_it_was(text, declared):
    body = ("<p>" + text).encode(errors="replace")
    assert decode_html(body, declared) == DecodedText(body, "utf-8")


@given(st.text(st.characters(min_codepoint=0x80, exclude_categories=["Cs"]), min_size=2))
def test_characters_of_utf8_are_read_in_spite_of_a_legacy_encoding(text):
    assert decode_html(text.encode(), "windows-1251").html == text.encode().removeprefix(b"\xef\xbb\xbf")


@given(st.binary(), st.sampled_from([None, "utf-8", "windows-1251", "shift_jis"]))
def test_any_bytes_become_utf8(body, declared):
    html = decode_html(body, declared).html
    assert html.decode().encode() == html


def test_malformed_utf8_becomes_replacement_characters():
    assert decode_html(b"a\xe2\x82b\xff", "utf-8").html.decode() == "a\ufffdb\ufffd"


def test_valid_utf8_is_not_copied():
    body = "<p>é".encode()
    assert decode_html(body).html is body


def test_text_loses_lone_surrogates_and_keeps_pairs():
    assert encode_text("a\ud800b") == "a\ufffdb".encode()
    assert encode_text("\ud83d\ude00") == "😀".encode()
    assert encode_text("\ufeffa\x00") == b"a\x00"
