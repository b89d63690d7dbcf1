import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.reference import Reference
from dehusk.streams.sources.registry import SourceSettings, open_source
from dehusk.streams.stores.roots import Root
from dehusk.streams.stores.stored import StoredPath
from tests.web_server import web_server

URL = "http://example.org/a"
HTML = b"<!doctype html><title>A</title><p>The text."
MAX_BYTES = 1000


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "pages"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "a.html").write_bytes(HTML)
    (folder / "b" / "a.html.gz").write_bytes(gzip.compress(HTML))
    (folder / "bomb.gz").write_bytes(gzip.compress(b"<p>" + b"words " * 100_000))
    (folder / "large").write_bytes(b"<p>" + bytes(MAX_BYTES))
    (folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "secret.html").write_bytes(HTML)
    return folder


KEY = URL.encode()


def decode(value, *roots, key=KEY, headers=(), source="reference"):
    settings = SourceSettings(MAX_BYTES, reference_roots=roots)
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    (outcome,) = open_source(source, settings).decode(Message(key, content, headers))
    return outcome


@pytest.mark.parametrize("source", ["reference", "auto"])
@pytest.mark.parametrize(
    "name",
    ["b/a.html", "/b/a.html", "./b/a.html", "b/a.html.gz", "FOLDER/b/a.html", "file://FOLDER/b/a.html"],
)
def test_a_text_that_names_a_file_is_its_page(folder, name, source):
    page = decode(name.replace("FOLDER", str(folder)).encode(), folder, source=source)
    assert page == RawPage(URL, HTML, encoding=page.encoding, source="reference")


@pytest.mark.parametrize("source", ["reference", "auto"])
@pytest.mark.parametrize("field", ["reference", "key", "html_path", "s3_key", "uri", "file"])
def test_an_object_that_names_a_file_is_its_page(folder, field, source):
    value = {"url": URL, field: "b/a.html", "id": 7, "fetched_at": "2026-01-02T03:04:05Z", "language": "en"}
    page = decode(value, folder, key=None, source=source)
    assert (page.url, page.html, page.id, page.language) == (URL, HTML, "7", "en")
    assert page.fetched_at.year == 2026


def test_a_field_is_named_where_it_has_another_name(folder):
    fields = (("url", "page.link"), ("reference", "page.stored.0"))
    source = Reference(MAX_BYTES, (Root.of(folder),), fields)
    value = {"page": {"link": URL, "stored": ["b/a.html"]}, "key": "b/other"}
    (page,) = source.decode(Message(None, json.dumps(value).encode()))
    assert (page.url, page.html) == (URL, HTML)


def test_an_object_may_hold_a_small_page_itself(folder):
    page = decode({"url": URL, "html": "<p>small", "key": "b/a.html"}, folder)
    assert page.html == b"<p>small"


@pytest.mark.parametrize("source", ["auto", "reference"])
@pytest.mark.parametrize(
    "value",
    [
        b"s3://pages/b/a.html",
        b"https://host/b/a.html",
        b"/data/pages/a.html",
        b"crawl/2026/a.html.gz",
        b"a.html\n",
        {"url": URL, "s3_key": "b/a.html"},
        {"url": URL, "bucket": "pages", "key": "b/a"},
    ],
)
def test_a_message_that_holds_only_a_reference_says_so(value, source):
    broken = decode(value, source=source)
    assert (broken.reason, broken.url) == (BrokenReason.HOLDS_ONLY_A_REFERENCE, URL)
    assert "--source reference --reference-root" in broken.detail


@pytest.mark.parametrize(
    "value",
    [
        b"some words",
        b"",
        b"\x00\x01/\x02",
        b"42",
        {"url": URL},
        {"url": URL, "key": 5},
        {"reference": URL, "content": "<p>"},
        [1, 2],
        b"2024/" * 40 + b" and text",
        b"a/" * 2000 + b"<",
    ],
)
def test_other_messages_hold_no_reference(value, folder):
    for roots in ((), (folder,)):
        outcome = decode(value, *roots, source="auto")
        assert isinstance(outcome, Skipped) or outcome.reason is not BrokenReason.HOLDS_ONLY_A_REFERENCE


@pytest.mark.parametrize(
    "reference",
    [
        "../secret.html",
        "b/../../secret.html",
        "%2e%2e/secret.html",
        "FOLDER/../secret.html",
        "file://FOLDER/../secret.html",
        "http://169.254.169.254/latest/meta-data",
        "s3://other/b/a.html",
        "PARENT/secret.html",
        "..\\secret.html",
        "b/a.html\0",
    ],
)
def test_nothing_is_read_that_lies_below_no_root(folder, reference):
    name = reference.replace("FOLDER", str(folder)).replace("PARENT", str(folder.parent))
    broken = decode({"url": URL, "key": name}, folder)
    assert (broken.reason, broken.url) == (BrokenReason.RECORD_NOT_FOUND, URL)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("b/missing.html", BrokenReason.RECORD_NOT_FOUND),
        ("b", BrokenReason.RECORD_NOT_FOUND),
        ("x" * 300 + ".html", BrokenReason.RECORD_NOT_FOUND),
        ("large", BrokenReason.PAGE_TOO_LARGE),
        ("bomb.gz", BrokenReason.INFLATES_TOO_LARGE),
    ],
)
def test_a_file_that_cannot_be_a_page_breaks_its_message(folder, name, reason):
    broken = decode({"url": URL, "path": name}, folder)
    assert (broken.reason, broken.url) == (reason, URL)


def test_a_file_that_is_no_page_is_skipped(folder):
    assert isinstance(decode({"url": URL, "path": "a.png"}, folder), Skipped)


def test_a_page_has_the_url_of_its_message_or_else_of_its_place(folder):
    headers = (("url", b"http://example.org/of-header"),)
    assert decode(b"b/a.html", folder, headers=headers).url == "http://example.org/of-header"
    assert decode({"url": URL, "key": "b/a.html"}, folder, headers=headers).url == URL
    assert decode(b"b/a.html", folder, key=None).reason is BrokenReason.MISSING_URL
    with web_server() as server:
        server.objects["/p/a"] = HTML
        place = f"{server.url}/p/a"
        assert decode(place.encode(), StoredPath(f"{server.url}/p"), key=None).url == place


def test_several_roots_are_an_allow_list(folder):
    with web_server() as server:
        server.objects["/p/a?v=1"] = server.objects["/p/a"] = HTML
        roots = (folder, StoredPath(f"{server.url}/p/"))
        assert decode(f"{server.url}/p/a?v=1".encode(), *roots).html == HTML
        assert decode(f"{folder}/b/a.html".encode(), *roots).html == HTML
        assert decode(b"b/a.html", *roots).html == HTML
        asked = len(server.requests)
        assert decode(f"{server.url}/q/a".encode(), *roots).reason is BrokenReason.RECORD_NOT_FOUND
        assert decode(f"{server.url}/p/../q".encode(), *roots).reason is BrokenReason.RECORD_NOT_FOUND
        assert len(server.requests) == asked


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        ("ROOT/gone.html?signature=secret", "'ROOT/gone.html'"),
        ("gone.html?signature=secret", "'gone.html'"),
        ("ROOT/../a.html?signature=secret", "'../a.html' is no name below ROOT/"),
        ("ROOT/large?signature=secret", "'ROOT/large': more than the limit"),
        ("https://me:secret@host/a.html?signature=secret", "'https://host/a.html' lies below no"),
    ],
)
def test_no_detail_tells_a_signature_or_a_password(reference, named):
    with web_server() as server:
        server.objects["/p/large"] = b"<p>" + bytes(50_000_000)
        root = f"{server.url}/p"
        broken = decode({"url": URL, "key": reference.replace("ROOT", root)}, StoredPath(root))
    assert named.replace("ROOT", root) in broken.detail
    assert "secret" not in broken.detail


def test_no_detail_tells_the_signature_of_a_reference_without_a_root():
    broken = decode(b"https://host/a.html?signature=secret")
    assert broken.detail.startswith("it names 'https://host/a.html', and holds no page")


def test_what_is_too_large_is_not_read_to_its_end():
    with web_server() as server:
        server.objects["/p/a"] = b"<p>" + bytes(50_000_000)
        assert decode(b"a.html", StoredPath(f"{server.url}/p")).reason is BrokenReason.RECORD_NOT_FOUND
        broken = decode({"key": "a"}, StoredPath(f"{server.url}/p"))
        assert broken.reason is BrokenReason.PAGE_TOO_LARGE
        assert len(server.requests) == 2


def test_a_message_waits_for_a_store_that_is_away():
    source = Reference(MAX_BYTES, (Root.of(StoredPath("http://127.0.0.1:1/pages"), 0.1),))
    with pytest.raises(UnavailableError, match="does not give"):
        source.decode(Message(URL.encode(), b"b/a.html"))


def test_a_message_of_another_format_is_told(folder):
    broken = decode(HTML, folder)
    assert (broken.reason, "--source html" in broken.detail) == (BrokenReason.WRONG_FORMAT, True)


@given(st.binary(max_size=80) | st.text(max_size=80).map(str.encode))
def test_any_value_has_an_outcome(value):
    (outcome,) = Reference(MAX_BYTES, (Root.of(Path("/nowhere")),)).decode(Message(None, value))
    assert isinstance(outcome, Broken | Skipped)
