"""Pages in the layers that crawlers put around them: each is read as itself, or refused by name."""

import gzip
import html
import json
import zlib
from base64 import b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.settings import MIB
from dehusk.streams.sources.page import Answer, html_page

URL = "https://example.org/a"
PAGE = '<!doctype html><title>Título</title>\n<p class="a">It\'s \\ so &amp; so: 1 &lt; 2\t</p>'
LATE = f"<!-- {'x' * 5_000} -->\n" + PAGE
Body = bytes | str


def read(body: Body, *, kind: str | None = "text/html", coding: str | None = None) -> object:
    return html_page(Answer(URL, body, kind, content_encoding=coding), "html", MIB)


def read_page(body: Body, *, kind: str | None = "text/html", coding: str | None = None) -> str:
    page = read(body, kind=kind, coding=coding)
    assert isinstance(page, RawPage), page
    return page.html.decode()


def as_bytes(body: Body) -> bytes:
    return body.encode() if isinstance(body, str) else body


def as_text(body: Body) -> str:
    return body if isinstance(body, str) else body.decode()


def base64(body: Body) -> str:
    return b64encode(as_bytes(body)).decode()


def folded(body: Body, width: int = 64, space: str = " ") -> str:
    digits = base64(body)
    return space.join(digits[start : start + width] for start in range(0, len(digits), width))


TEXT_LAYERS: dict[str, Callable[[str], Body]] = {
    "JSON": json.dumps,
    "JSON in Unicode": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON with a mark": lambda text: json.dumps(f"\ufeff{text}"),
    "JSON with a form feed": lambda text: json.dumps(f"\f{text}"),
    "repr": repr,
    "entities": html.escape,
    "data URL of text": lambda text: f"data:text/html,{quote(text)}",
}
LAYERS: dict[str, Callable[[Body], Body]] = {
    "base64": base64,
    "URL-safe": lambda body: urlsafe_b64encode(as_bytes(body)).decode(),
    "no padding": lambda body: base64(body).rstrip("="),
    "lines": lambda body: encodebytes(as_bytes(body)).decode(),
    "blanks": folded,
    "tabs": lambda body: folded(body, 76, "\t"),
    "odd blanks": lambda body: folded(body, 5, " \r\n"),
    "data URL": lambda body: f"data:text/html;charset=utf-8;base64,{base64(body)}",
    "bare data URL": lambda body: f"\nDATA:;base64,{base64(body)} ",
    "bytes": lambda body: repr(as_bytes(body)),
    "bytes of base64": lambda body: repr(b64encode(as_bytes(body))),
    "bytes of lines": lambda body: repr(encodebytes(as_bytes(body))),
    "value": as_bytes,
    "gzip": lambda body: gzip.compress(as_bytes(body)),
    "zstd": lambda body: zstandard.compress(as_bytes(body)),
}
SERVED = {"br": brotli.compress, "deflate": zlib.compress, "gzip": gzip.compress, "none": bytes}


@pytest.mark.parametrize("kind", ["text/html", None])
@pytest.mark.parametrize("page", [PAGE, LATE])
@pytest.mark.parametrize("layer", [*LAYERS.values(), *TEXT_LAYERS.values()], ids=[*LAYERS, *TEXT_LAYERS])
def test_a_page_is_read_in_any_layer(layer: Callable[[str], Body], page: str, kind: str | None) -> None:
    for body in (layer(page), as_bytes(layer(page))):
        assert read_page(body, kind=kind).strip("\ufeff\f") == page


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip"])
@pytest.mark.parametrize("layer", [base64, folded, LAYERS["data URL"], LAYERS["bytes of base64"]])
def test_a_declared_compression_is_that_of_the_bytes_in_layers(
    layer: Callable[[Body], Body], coding: str
) -> None:
    body = layer(SERVED[coding](PAGE.encode()))
    assert read_page(body, coding=coding) == PAGE
    assert read_page(json.dumps(base64(body)), coding=coding) == PAGE


def test_base64_twice_is_a_page() -> None:
    assert read_page(base64(base64(PAGE))) == PAGE


def test_strings_may_begin_with_text() -> None:
    assert read_page(json.dumps(f"Words\n{PAGE}")) == f"Words\n{PAGE}"
    assert read_page(repr(f"Words\n{PAGE}")) == f"Words\n{PAGE}"


def layered(names: list[str]) -> Body:
    body: Body = PAGE
    for name in names:
        if name in LAYERS:
            body = LAYERS[name](body)
        elif isinstance(body, str) or body.isascii() or body == PAGE.encode():
            body = TEXT_LAYERS[name](as_text(body))
    return body


@given(
    st.lists(st.sampled_from([*LAYERS, *TEXT_LAYERS]), max_size=6),
    st.sampled_from(list(SERVED)),
    st.sampled_from(["value", "field"]),
)
@example(["base64"] * 7, "none", "field")
def test_a_page_in_any_layers_is_read_as_itself_or_refused(names: list[str], coding: str, kind: str) -> None:
    body = layered(names)
    if coding != "none":
        body = base64(SERVED[coding](as_bytes(body)))
    outcome = read(as_bytes(body) if kind == "value" else body, coding=None if coding == "none" else coding)
    if isinstance(outcome, RawPage):
        assert outcome.html.decode().strip("\ufeff\f") == PAGE
    else:
        assert isinstance(outcome, Broken | Skipped)
        assert len(names) > 3 or {"gzip", "zstd"} & {*names}


@pytest.mark.parametrize("layer", [json.dumps, repr, base64, LAYERS["bytes"]])
def test_more_layers_than_any_page_has_are_refused(layer: Callable[[Body], Body]) -> None:
    body: Body = PAGE
    for _ in range(11):
        body = layer(body)
    broken = read(body)
    assert isinstance(broken, Broken)
    assert (broken.reason, broken.detail) == (
        BrokenReason.MALFORMED_MESSAGE,
        "it is encoded more than 8 times",
    )


PROSE = "Plain text, in which there are many words: 1, 2, 3 and so on. " * 5


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (base64(PROSE), "it is base64 of no page: name its compression"),
        (base64(PROSE).encode(), "it is base64 of no page: name its compression"),
        (folded(PROSE), "it is base64 of no page: name its compression"),
        (base64(brotli.compress(PAGE.encode() * 3)), "it is base64 of no page: name its compression"),
        ("data:text/html;base64,PGh0bWw+P", "a data: URL whose base64 is damaged: "),
        ("data:text/css;base64,cCB7fQ==", "a data: URL of text/css, which is no page"),
        ("data:text/css,p%20{}", "a data: URL of text/css, which is no page"),
    ],
)
def test_what_is_certainly_encoded_and_no_page_is_broken(body: Body, detail: str) -> None:
    broken = read(body)
    assert isinstance(broken, Broken)
    assert broken.reason is BrokenReason.MALFORMED_MESSAGE
    assert broken.detail.startswith(detail)


def test_another_file_in_a_layer_is_named() -> None:
    for body in (base64(b"%PDF-1.7"), "data:application/pdf;base64,JVBERi0xLjc=", repr(b"%PDF-1.7 \xff")):
        assert read(body) == Skipped(SkipReason.NOT_HTML, "a PDF", URL)


@pytest.mark.parametrize(
    "text",
    [
        "word",
        "Words and more words",
        "b'bytes'",
        "'quoted'",
        "'It is', he said, 'so'",
        "data: 1, 2",
        "data:no",
        "data:,no",
        "&lt; is less",
        "&quot;Words&quot;",
        "&lt;p> <b>bold</b>",
        "'<b>Words</b>'",
        "'<p>\\N{DASH}</p>'",
        "&#39;Words&#39; in &quot;marks&quot;",
        "b'<p>\u20ac\\n'",
        "words" * 99,
        "0123456789abcdef" * 8,
        "Words of 9 letters or more " * 20,
        '"<p>\\ud800"x',
    ],
)
def test_a_text_that_looks_encoded_stays_as_it_is(text: str) -> None:
    assert read_page(text) == text


@given(st.text() | st.binary(), st.sampled_from([None, "br", "gzip", "deflate"]))
def test_any_body_is_read_or_refused(body: Body, coding: str | None) -> None:
    assert isinstance(read(body, coding=coding), RawPage | Skipped | Broken)
