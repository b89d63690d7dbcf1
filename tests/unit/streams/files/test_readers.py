import bz2
import codecs
import gzip
import io
import json
import lzma
import os
import sys
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken, BrokenReason, Damaged, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.files import readers
from dehusk.streams.files.paths import STANDARD_INPUT, input_size
from dehusk.streams.files.position import InputPosition
from dehusk.streams.files.readers import ESCAPED, read_lines, read_pages
from dehusk.streams.sources.json_fields import JsonFields
from dehusk.streams.sources.warc import write_warc

MAX_BYTES = 10_000
HTML = "<!doctype html><title>Ж</title><p>"
PAGE = RawPage("http://example.org/", HTML.encode())


def read(*paths, base_url=""):
    return list(read_pages(paths, MAX_BYTES, base_url))


def lines(*pages):
    return b"".join(json.dumps(page).encode() + b"\n" for page in pages)


def piped(data):
    return io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))


def numbered(count):
    return [
        {"id": number, "url": f"http://example.org/{number}", "html": f"<p>{number}"}
        for number in range(count)
    ]


@pytest.mark.parametrize("named", ["../pages", "../pages/a.html", "../linked", "../linked/a.html"])
def test_a_page_has_one_url_from_wherever_it_is_named(tmp_path, monkeypatch, named):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.html").write_text(HTML)
    (tmp_path / "linked").symlink_to("pages")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    (page,) = read(Path(named))
    assert page.url == (tmp_path / "pages" / "a.html").as_uri()


def test_a_directory_gives_its_html_files_sorted_and_to_its_depth(tmp_path):
    for name in ("b.html", "a.htm", "sub/c", "sub/.hidden/d.xhtml", "Z.php"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{HTML}{name}")
    pages = read(tmp_path)
    names = ["Z.php", "a.htm", "b.html", "sub/c", "sub/.hidden/d.xhtml"]
    assert [page.url for page in pages] == [f"file://{tmp_path}/{name}" for name in names]
    assert [page.html.decode() for page in pages] == [HTML + name for name in names]


def test_what_engines_write_beside_their_data_is_passed_over(tmp_path):
    names = ("a.html", "_SUCCESS", "._SUCCESS.crc", ".a.html.crc", "_metadata", "_temporary/0/a.html")
    for name in (*names, "sub/_SUCCESS", "sub/_a.html"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(HTML)
    assert [page.url for page in read(tmp_path)] == [
        f"file://{tmp_path}/a.html",
        f"file://{tmp_path}/sub/_a.html",
    ]
    (page,) = read(tmp_path / "_SUCCESS")  # which is named
    assert page.html == HTML.encode()


def test_a_file_gets_its_url_below_the_base_url(tmp_path):
    file = tmp_path / "sub" / "ä b?c.html"
    file.parent.mkdir()
    file.write_text(HTML)
    url = "https://example.org/docs/sub/%C3%A4%20b%3Fc.html"
    assert [page.url for page in read(tmp_path, base_url="https://example.org/docs/")] == [url]
    assert [page.url for page in read(file, base_url="https://example.org/docs/sub")] == [url]


def test_an_html_file_is_decoded_by_what_it_declares(tmp_path):
    (tmp_path / "a.html").write_bytes("<meta charset=koi8-r><p>Привет".encode("koi8-r"))
    (page,) = read(tmp_path)
    assert (page.html.decode(), page.encoding) == ("<meta charset=koi8-r><p>Привет", "koi8-r")


def test_files_that_are_no_pages_are_skipped(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "b.css").write_text("p { color: red }")
    (tmp_path / "c").write_text("plain words")
    (tmp_path / "d.html").write_text("")
    outcomes = read(tmp_path)
    assert [outcome.reason for outcome in outcomes] == [SkipReason.NOT_HTML] * 3 + [SkipReason.NO_BODY]


@pytest.mark.parametrize("name", ["Node.js", "allegro.pl", "index.php?file=a.pdf", "File:Fox.jpg", "a.svg"])
@pytest.mark.parametrize("begin", ["", "\ufeff\n"])
def test_a_page_that_says_it_is_one_is_read_whatever_the_end_of_its_name(tmp_path, name, begin):
    (tmp_path / name).write_text(begin + HTML)
    (page,) = read(tmp_path)
    assert isinstance(page, RawPage)


def test_links_that_go_in_circles_or_nowhere_do_no_harm(tmp_path):
    (tmp_path / "a.html").write_text(HTML)
    (tmp_path / "circle").symlink_to(tmp_path)
    (tmp_path / "link.html").symlink_to("a.html")
    (tmp_path / "nowhere.html").symlink_to("missing")
    os.mkfifo(tmp_path / "pipe.html")
    first, second, nowhere, pipe = read(tmp_path)
    assert (first.html, second.html) == (HTML.encode(), HTML.encode())
    assert "nowhere.html is not a regular file" in nowhere.detail
    assert "pipe.html is not a regular file" in pipe.detail


def test_a_pipe_that_is_named_is_read_as_standard_input_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as writers:
        writers.submit(pipe.write_bytes, lines(*numbered(2)))
        assert [page.id for page in read(pipe)] == ["0", "1"]


def test_a_file_that_cannot_be_reached_is_named_and_the_others_are_read(tmp_path):
    (tmp_path / "a.html").symlink_to("a" * 300)  # the kernel refuses to follow it, as into a closed folder
    (tmp_path / "b.html").write_text(HTML)
    unreachable, page = read(tmp_path)
    assert isinstance(unreachable, Damaged)
    assert "a.html cannot be read" in unreachable.detail
    assert page.html == HTML.encode()


def test_a_path_that_cannot_be_reached_is_told(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be read: File name too long"):
        read(tmp_path / ("a" * 300))


def test_a_name_that_is_not_utf_8_is_read(tmp_path):
    (tmp_path / os.fsdecode(b"\xe4.html")).write_text(HTML)
    (tmp_path / os.fsdecode(b"\xe4.jsonl")).write_text("x")
    page, broken = read(tmp_path)
    assert page.url.endswith("/%E4.html")
    assert read(tmp_path, base_url="http://a/")[0].url == "http://a/%E4.html"
    assert broken.detail.encode()


def test_a_path_that_does_not_exist_is_a_mistake_of_the_caller(tmp_path):
    with pytest.raises(ConfigurationError, match="missing"):
        read(tmp_path / "missing")


COMPRESSED = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}


@pytest.mark.parametrize("suffix", COMPRESSED)
@pytest.mark.parametrize("kind", [".jsonl", ".ndjson", ".jl"])
def test_each_line_of_json_is_a_page(tmp_path, kind, suffix):
    file = tmp_path / f"pages{kind}{suffix}"
    file.write_bytes(COMPRESSED[suffix](lines(*numbered(3))))
    assert read(file) == [
        RawPage(f"http://example.org/{number}", b"<p>%d" % number, id=f"{number}", source="json")
        for number in range(3)
    ]


def test_text_in_a_line_is_unicode_already(tmp_path):
    file = tmp_path / "pages.jsonl"
    file.write_bytes(
        lines(
            {"url": "http://a/", "html": "<meta charset=koi8-r><p>Привет"}, {"url": "http://a/", "html": "Ж"}
        )
    )
    assert [page.html.decode() for page in read(file)] == ["<meta charset=koi8-r><p>Привет", "Ж"]


WITHOUT_URL = [{"id": "7", "html": "<p>"}] + [
    {"id": "7", "url": url, "html": "<p>"} for url in (None, "", " ")
]


@pytest.mark.parametrize("line", WITHOUT_URL)
def test_a_line_without_a_url_is_a_page_all_the_same(tmp_path, line):
    file = tmp_path / "pages.jsonl"
    file.write_bytes(lines(line))
    assert read(file) == [RawPage("", b"<p>", id="7", source="json")]


@pytest.mark.parametrize("line", WITHOUT_URL)
def test_a_line_without_a_url_is_named_where_each_needs_one(tmp_path, line):
    file = tmp_path / "pages.jsonl"
    first, last = numbered(2)
    file.write_bytes(lines(first, line, last))
    before, broken, after = read_pages([file], MAX_BYTES, needs_url=True)
    assert (before.id, after.id) == ("0", "1")
    detail = f"line 2 of {file}: it has no 'url', which tells a worker the document's key and site"
    assert broken == Broken(BrokenReason.MISSING_URL, detail, id="7")


NO_TEXT = {5: "5", 1.5: "1.5", True: "true", (): "[]", ("http://a/",): '["http://a/"]'}
"""Values of JSON, lists as tuples, and what they are passed on as."""
NO_PAGES_URL = ["nowhere", "not a url", "mailto:a@example.org", "/path", "http://"]


@pytest.mark.parametrize("url", NO_PAGES_URL)
def test_a_line_may_have_anything_for_a_url(tmp_path, url):
    file = tmp_path / "pages.jsonl"
    file.write_bytes(lines({"id": "7", "url": f" {url}", "html": "<p>"}))
    assert read(file) == [RawPage(url, b"<p>", id="7", source="json")]


@pytest.mark.parametrize(("url", "said"), NO_TEXT.items())
def test_a_url_that_is_no_text_is_passed_on_as_json(tmp_path, url, said):
    file = tmp_path / "pages.jsonl"
    file.write_bytes(lines({"id": "7", "url": url, "html": "<p>"}, {"id": "8", "url": url, "html": ""}))
    page, empty = read(file)
    assert page == RawPage(said, b"<p>", id="7", source="json")
    assert (empty.reason, empty.url) == (SkipReason.NO_BODY, said)


@pytest.mark.parametrize("url", NO_PAGES_URL)
def test_what_is_no_url_of_a_page_is_named_where_each_needs_one(tmp_path, url):
    file = tmp_path / "pages.jsonl"
    file.write_bytes(lines({"id": "7", "url": url, "html": "<p>"}))
    (broken,) = read_pages([file], MAX_BYTES, needs_url=True)
    assert (broken.reason, broken.id, broken.url) == (BrokenReason.MISSING_URL, "7", url)
    assert broken.detail.startswith(f"line 1 of {file}: ")


@pytest.mark.parametrize("html", ["<p>", None])
@pytest.mark.parametrize(("url", "said"), NO_TEXT.items())
def test_a_url_that_is_no_text_is_malformed_where_each_needs_one_as_it_is_to_a_worker(
    tmp_path, url, said, html
):
    file = tmp_path / "pages.jsonl"
    page = {"id": "7", "url": url, "html": html}
    file.write_bytes(lines(page))
    (broken,) = read_pages([file], MAX_BYTES, needs_url=True)
    (of_worker,) = JsonFields(MAX_BYTES).decode(Message(None, orjson.dumps(page)))
    assert broken == Broken(of_worker.reason, f"line 1 of {file}: {of_worker.detail}", said, "7")
    assert of_worker.reason is BrokenReason.MALFORMED_MESSAGE


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"id": 7, "url": "http://a/ü", "html": None}, SkipReason.NO_BODY),
        ({"id": 7, "url": "http://a/ü", "html": "x" * (MAX_BYTES + 1)}, BrokenReason.PAGE_TOO_LARGE),
        ({"id": 7, "url": "nowhere"}, BrokenReason.WRONG_FORMAT),
        ({"id": 7, "html": ""}, SkipReason.NO_BODY),
    ],
)
def test_what_cannot_be_cleaned_keeps_the_id_and_url_of_its_line(tmp_path, line, reason):
    file = tmp_path / "pages.jsonl"
    file.write_bytes(lines(line))
    (outcome,) = read(file)
    assert (outcome.reason, outcome.id, outcome.url) == (reason, "7", line.get("url"))


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("null", None),
        ('""', None),
        ('"7"', "7"),
        ("0", "0"),
        ("12345678901234567890123456789012345", "12345678901234567890123456789012345"),
        ("1.5", "1.5"),
        ("NaN", "NaN"),
        ("true", "true"),
        ("false", "false"),
        ("[]", "[]"),
        ('{"x": [1, "é"]}', '{"x":[1,"é"]}'),
        ('["\\ud800"]', '["\ufffd"]'),
    ],
)
def test_an_id_that_is_no_text_is_passed_on_as_json(tmp_path, written, name):
    file = tmp_path / "pages.jsonl"
    for html in ("<p>", ""):
        file.write_text(f'{{"id": {written}, "url": "http://a/", "html": "{html}"}}\n')
        (outcome,) = read(file)
        assert outcome.id == name


@pytest.mark.parametrize("field", ["id", "url"])
def test_a_field_that_nests_deeper_than_python_reads_is_named(tmp_path, monkeypatch, field):
    def loads(line):
        raise RecursionError

    monkeypatch.setattr(
        "dehusk.streams.files.page_lines.json.loads", loads
    )  # versions of Python differ in how deep they read
    file = tmp_path / "pages.jsonl"
    file.write_text(f'{{"{field}": [[]], "html": "<p>"}}\n')
    detail = f"line 1 of {file}: field '{field}': its JSON nests too deep"
    assert read(file) == [Broken(BrokenReason.MALFORMED_MESSAGE, detail)]


def test_an_id_that_utf_8_cannot_say_is_replaced(tmp_path):
    file = tmp_path / "pages.jsonl"
    file.write_bytes(b'{"id": "a\\ud800", "url": "http://a/", "html": ""}\n')
    (outcome,) = read(file)
    assert outcome.id == "a\ufffd"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"nonsense", BrokenReason.MALFORMED_MESSAGE),
        (b"[]", BrokenReason.MALFORMED_MESSAGE),
        (b"\xff", BrokenReason.MALFORMED_MESSAGE),
        (b'{"url": "http://a/", "html": 5}', BrokenReason.MALFORMED_MESSAGE),
        (lines({"html": "x" * (MAX_BYTES + 1)}).strip(), BrokenReason.PAGE_TOO_LARGE),
        (lines({"html": "x" * 20 * MAX_BYTES}).strip(), BrokenReason.PAGE_TOO_LARGE),
    ],
)
def test_a_bad_line_is_named_and_the_lines_around_it_are_read(tmp_path, line, reason):
    file = tmp_path / "pages.jsonl"
    before, after = numbered(2)
    file.write_bytes(b"\xef\xbb\xbf" + lines(before) + b"\n" + line + b"\r\n" + lines(after))
    first, broken, last = read(file)
    assert (first.id, last.id) == ("0", "1")
    assert isinstance(broken, Broken)
    assert broken.reason is reason
    assert f"line 3 of {file}" in broken.detail


@pytest.mark.parametrize("html", [None, ""])
def test_a_line_without_a_page_is_skipped(tmp_path, html):
    file = tmp_path / "pages.jsonl"
    file.write_bytes(lines({"url": "http://a/", "html": html}))
    detail = f"line 1 of {file}: the message holds no content"
    assert read(file) == [Skipped(SkipReason.NO_BODY, detail, "http://a/")]


def test_html_that_is_no_text_is_named_with_its_line(tmp_path):
    file = tmp_path / "pages.jsonl"
    file.write_bytes(lines(*numbered(1), {"id": 7, "url": "http://a/", "html": 0}))
    _, broken = read(file)
    assert (broken.reason, broken.id) == (BrokenReason.MALFORMED_MESSAGE, "7")
    assert broken.detail == f"line 2 of {file}: field 'html': a JSON number where a string is expected"


def test_a_page_within_the_limit_is_read_however_its_line_escapes_it(tmp_path):
    html = "<p>" + "<" * (MAX_BYTES - 3)
    file = tmp_path / "pages.jsonl"
    file.write_bytes(lines({"url": "http://a/", "html": html}).replace(b"<", b"\\u003c"))
    assert [page.html.decode() for page in read(file)] == [html]


def test_standard_input_is_lines_of_json(monkeypatch):
    monkeypatch.setattr(sys, "stdin", piped(lines(*numbered(2))))
    assert [page.id for page in read(STANDARD_INPUT)] == ["0", "1"]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress, bz2.compress, zstandard.compress])
def test_standard_input_may_be_compressed_or_one_page(monkeypatch, compress):
    monkeypatch.setattr(sys, "stdin", piped(compress(lines(*numbered(2)))))
    assert [page.id for page in read(STANDARD_INPUT)] == ["0", "1"]
    monkeypatch.setattr(sys, "stdin", piped(compress(b"\xef\xbb\xbf\n" + HTML.encode() + b"\n<p>more")))
    (page,) = read(STANDARD_INPUT)
    assert page.url == ""
    assert page.html.decode().endswith(f"{HTML}\n<p>more")


@pytest.mark.parametrize(
    "data",
    [b" \n" + HTML.encode(), gzip.compress(HTML.encode()), b"\xff\xfe" + HTML.encode("utf-16-le")],
    ids=["blank", "gzip", "utf-16"],
)
def test_standard_input_that_comes_slowly_is_told_by_more_than_its_first_bytes(monkeypatch, data):
    pieces = iter([data[:1], data[1:2], data[2:]])

    class Slow(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            piece = next(pieces, b"")
            buffer[: len(piece)] = piece
            return len(piece)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Slow())))
    (page,) = read(STANDARD_INPUT)
    assert HTML in page.html.decode()


def test_the_file_that_standard_output_is_written_to_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_bytes(lines(*numbered(1)))
    with (tmp_path / "a.jsonl").open("ab") as output:
        monkeypatch.setattr(readers, "_STANDARD_OUTPUT", output.fileno())
        (skipped,) = read(tmp_path)
    assert (skipped.reason, "standard output" in skipped.detail) == (SkipReason.NOT_A_PAGE, True)


def test_standard_input_that_is_a_page_has_no_url_to_feed_it_by(monkeypatch):
    monkeypatch.setattr(sys, "stdin", piped(HTML.encode()))
    with pytest.raises(ConfigurationError, match="without a URL"):
        list(read_pages([STANDARD_INPUT], MAX_BYTES, needs_url=True))
    monkeypatch.setattr(sys, "stdin", piped(HTML.encode()))
    (page,) = read_pages([STANDARD_INPUT], MAX_BYTES, "https://a.test/b", needs_url=True)
    assert (page.url, page.html) == ("https://a.test/b", HTML.encode())


def test_standard_input_that_ends_too_early_is_damaged(monkeypatch):
    monkeypatch.setattr(sys, "stdin", piped(gzip.compress(lines(*numbered(2)))[:-8]))
    *pages, damaged = read(STANDARD_INPUT)
    assert [page.id for page in pages] == ["0", "1"]
    assert isinstance(damaged, Damaged)


@pytest.mark.parametrize(
    "name", ["pages.txt", "pages.json", "pages", "pages.html", "pages.TXT.zst", "pages.gz"]
)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_lines_of_json_are_known_by_the_first_whatever_their_file_is_called(tmp_path, name, mark):
    compress = {".gz": gzip.compress, ".zst": zstandard.compress}.get(Path(name).suffix, bytes)
    pages = numbered(3)
    pages[0]["html"] += "x" * (MAX_BYTES - 10)  # more than a reader's buffer holds
    (tmp_path / name).write_bytes(compress(mark + lines(*pages)))
    assert [page.id for page in read(tmp_path)] == ["0", "1", "2"]


def test_a_broken_line_of_a_file_with_another_name_is_named(tmp_path):
    (tmp_path / "pages.txt").write_bytes(lines(*numbered(1)) + b"nonsense\n")
    page, broken = read(tmp_path)
    assert page.id == "0"
    assert broken.detail.startswith(f"line 2 of {tmp_path / 'pages.txt'}: ")


def test_a_first_line_that_is_longer_than_any_page_is_one_of_json(tmp_path):
    (tmp_path / "pages.txt").write_bytes(lines({"html": "x" * 20 * MAX_BYTES}, *numbered(1)))
    broken, page = read(tmp_path)
    assert (broken.reason, page.id) == (BrokenReason.PAGE_TOO_LARGE, "0")


@pytest.mark.parametrize(
    "text", ['{"name": "package"}\n', '{\n  "html": "<p>"\n}\n', "{% block %}", "{}", "[{}]", "{"]
)
def test_other_json_is_no_page_as_before(tmp_path, text):
    (tmp_path / "data.json").write_text(text)
    assert [outcome.reason for outcome in read(tmp_path)] == [SkipReason.NOT_HTML]


def test_a_page_that_begins_like_json_is_read_whole(tmp_path):
    html = "{{ title }}\n<!doctype html><p>text"
    (tmp_path / "a.html").write_text(html)
    assert [page.html.decode() for page in read(tmp_path)] == [html]


def test_the_position_is_in_the_bytes_of_the_files(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.jsonl.zst").write_bytes(zstandard.compress(lines(*noisy(50))))
    position, size = InputPosition(), input_size([tmp_path])
    seen = [position.bytes for _ in read_pages([tmp_path], MAX_BYTES, position=position)]
    assert size == sum(file.stat().st_size for file in tmp_path.iterdir())
    assert (seen, seen[0] > 0, position.bytes) == (sorted(seen), True, size)


def test_a_pipe_has_no_size_and_what_is_not_there_has_none_either(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    assert input_size([tmp_path / "pipe"]) is None
    assert input_size([tmp_path / "missing"]) == 0
    with (tmp_path / "pages.jsonl").open("w+") as file:
        file.write("{}\n")
        file.flush()
        monkeypatch.setattr(sys, "stdin", file)
        assert input_size([STANDARD_INPUT]) == 3


def test_a_path_that_is_not_there_is_told_before_any_page_is_read(tmp_path):
    (tmp_path / "a.html").write_text(HTML)
    pages = read_pages([tmp_path, tmp_path / "b.html"], MAX_BYTES)
    with pytest.raises(ConfigurationError, match=r"no file or directory .*b.html"):
        next(pages)


def archive(count):
    out = io.BytesIO()
    for number in range(count):
        write_warc(RawPage(f"http://example.org/{number}", b"<p>%d" % number), out)
    return out.getvalue()


def arc(count):
    records = [b"filedesc://a.arc 0.0.0.0 19960923142103 text/plain 0\n\n"]
    for number in range(count):
        head = f"http://example.org/{number} 127.10.100.2 19961104142103 text/html 23\n"
        records.append(head.encode() + b"HTTP/1.0 200 OK\r\n\r\n<p>%d\n" % number)
    return b"".join(records)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("crawl.warc.gz", archive(3)),
        ("crawl.warc", gzip.decompress(archive(3))),
        ("crawl.warc.gz.open", archive(3)),
        ("CRAWL.WARC.GZ", archive(3)),
        ("crawl.warc", archive(3)),
        ("crawl.warc.xz", lzma.compress(gzip.decompress(archive(3)))),
        ("CC-MAIN-0.warc.wet.gz", archive(3)),
        ("crawl", archive(3)),
        ("crawl.arc", arc(3)),
        ("crawl", arc(3)),
        ("crawl.arc.gz", b"".join(map(gzip.compress, arc(3).splitlines(keepends=True)))),
    ],
)
def test_each_response_of_an_archive_is_a_page(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    pages = [outcome for outcome in read(tmp_path) if isinstance(outcome, RawPage)]
    assert [page.html for page in pages] == [b"<p>0", b"<p>1", b"<p>2"]


@pytest.mark.parametrize("name", ["crawl.warc", "crawl.warc.gz", "crawl.arc.gz"])
@pytest.mark.parametrize("data", [b"", gzip.compress(b"")])
def test_an_empty_archive_is_damaged(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    (damaged,) = read(tmp_path)
    assert isinstance(damaged, Damaged)
    assert damaged.detail == f"{tmp_path / name}: the archive is empty"


@pytest.mark.parametrize("data", [archive(3), gzip.decompress(archive(3)), arc(3)])
def test_an_archive_may_be_piped(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", piped(data))
    pages = [outcome for outcome in read(STANDARD_INPUT) if isinstance(outcome, RawPage)]
    assert [page.html for page in pages] == [b"<p>0", b"<p>1", b"<p>2"]


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
@pytest.mark.parametrize("cut", [0, 1, 3])
def test_lines_may_be_in_utf_16(tmp_path, monkeypatch, mark, cut):
    endian = "utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be"
    text = "".join(json.dumps(page | {"html": HTML}, ensure_ascii=False) + "\r\n" for page in numbered(2000))
    data = mark + (text + "{}").encode(endian)
    (tmp_path / "a.jsonl").write_bytes(data[: len(data) - cut])
    *pages, last = read(tmp_path)
    assert [(page.id, page.html.decode()) for page in pages] == [(f"{at}", HTML) for at in range(2000)]
    assert isinstance(last, Skipped | Broken)
    monkeypatch.setattr(sys, "stdin", piped(gzip.compress(data)))
    assert [page.id for page in read(STANDARD_INPUT)[:-1]] == [page.id for page in pages]


@pytest.mark.parametrize("encode", [json.dumps, lambda html: b64encode(html.encode()).decode()])
def test_the_page_of_a_line_may_be_encoded_twice(tmp_path, encode):
    (tmp_path / "a.jsonl").write_bytes(lines({"url": PAGE.url, "html": encode(HTML)}))
    assert [page.html for page in read(tmp_path)] == [HTML.encode()]


def test_a_line_may_be_encoded_twice(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(lines(json.dumps({"id": 1.50, "html": HTML})))
    (page,) = read(tmp_path)
    assert (page.id, page.html) == ("1.5", HTML.encode())


def test_a_name_within_a_name_does_not_make_an_archive(tmp_path):
    (tmp_path / "notes.warc.html").write_text(HTML)
    assert read(tmp_path)[0].html == HTML.encode()


@pytest.mark.parametrize("content", ['[{"html": "<p>a"}]', '{\n "html": "<p>a"\n}', '{"body": "<p>a"}\n'])
def test_pages_in_another_json_are_told_how_lines_are_written(tmp_path, content):
    (tmp_path / "items.json").write_text(content)
    (skipped,) = read(tmp_path)
    assert skipped.detail.startswith("content type application/json; pages in JSON are objects with `html`")


def test_the_largest_page_takes_no_memory_that_none_needs(tmp_path):
    (tmp_path / "a.html").write_text(HTML)
    (page,) = read_pages([tmp_path], 2**50)
    assert page.html == HTML.encode()


def test_a_compressed_page_is_read(tmp_path):
    (tmp_path / "a.html.gz").write_bytes(gzip.compress(HTML.encode()))
    (tmp_path / "b.html.xz").write_bytes(lzma.compress(HTML.encode()))
    assert [page.html for page in read(tmp_path)] == [HTML.encode()] * 2


NOISE = os.urandom(50_000).hex()
"""Bytes that do not compress, so that a file that is cut has pages before the cut."""


def noisy(count):
    return [{**page, "html": NOISE[at * 500 : (at + 1) * 500]} for at, page in enumerate(numbered(count))]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_a_cut_file_of_lines_gives_the_pages_before_the_cut(tmp_path, suffix):
    file = tmp_path / f"pages.jsonl{suffix}"
    data = COMPRESSED[suffix](lines(*noisy(150)))
    file.write_bytes(data[:-5000])
    *pages, broken = read(file)
    assert [page.id for page in pages] == [f"{number}" for number in range(len(pages))]
    assert len(pages) > 100
    assert isinstance(broken, Broken)
    assert str(file) in broken.detail


@pytest.mark.parametrize("decompress", [False, True])
def test_a_cut_archive_gives_the_pages_before_the_cut(tmp_path, decompress):
    data = gzip.decompress(archive(5)) if decompress else archive(5)
    (tmp_path / "crawl.warc.gz").write_bytes(data[:-30])
    *pages, broken = read(tmp_path)
    assert [page.html for page in pages] == [b"<p>0", b"<p>1", b"<p>2", b"<p>3"]
    assert isinstance(broken, Broken)
    assert "crawl.warc.gz" in broken.detail


@pytest.mark.parametrize(
    "name", ["pages.jsonl.gz", "crawl.warc.gz", "page.html.gz", "pages.jsonl.xz", "a.jsonl.zst"]
)
def test_a_file_whose_bytes_were_changed_ends_broken(tmp_path, name):
    good = archive(9) if "warc" in name else COMPRESSED[Path(name).suffix](lines(*noisy(9)))
    middle = len(good) // 2
    (tmp_path / name).write_bytes(good[:middle] + bytes(64) + good[middle + 64 :])
    last = read(tmp_path)[-1]
    assert isinstance(last, Broken)
    assert name in last.detail


class Endless(io.RawIOBase):
    """A stream of one byte value that remembers the most that was asked of it at once."""

    def __init__(self, byte, length):
        self.byte, self.left, self.largest = byte, length, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        self.largest = max(self.largest, len(buffer))
        size = min(len(buffer), self.left)
        buffer[:size] = self.byte * size
        self.left -= size
        return size


def test_a_line_without_end_is_never_held_whole(monkeypatch):
    stream = Endless(b"x", 20_000_000)

    class Stdin:
        buffer = io.BufferedReader(stream)

    monkeypatch.setattr(sys, "stdin", Stdin)
    (broken,) = read(STANDARD_INPUT)
    assert broken.reason is BrokenReason.PAGE_TOO_LARGE
    assert stream.left == 0
    assert stream.largest <= 6 * MAX_BYTES + 65_536


def test_pages_are_given_while_the_file_is_read(monkeypatch):
    stream = io.BytesIO(lines(*noisy(1000)))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(stream, 1000)))
    pages = read_pages([STANDARD_INPUT], MAX_BYTES)
    assert next(pages).id == "0"
    assert stream.tell() < 2000


def test_a_large_page_is_named_with_its_size_where_that_is_known(tmp_path):
    page = HTML.encode() + b"x" * 20 * MAX_BYTES
    (tmp_path / "a.html").write_bytes(page)
    (tmp_path / "b.html.gz").write_bytes(gzip.compress(page)[:-8])
    plain, cut_short = read(tmp_path)
    assert [plain.reason, cut_short.reason] == [BrokenReason.PAGE_TOO_LARGE] * 2
    assert plain.detail == f"{len(page):,} bytes, more than the limit of 10,000 bytes (--max-page-mib)"
    assert cut_short.detail == "more than the limit of 10,000 bytes (--max-page-mib)", (
        "it is not read to its end"
    )


def test_a_page_that_is_large_in_utf8_alone_is_named_with_its_size_there(tmp_path):
    html = '<meta charset="koi8-r"><p>' + "ж" * 6_000
    (tmp_path / "a.html").write_bytes(html.encode("koi8-r"))
    (broken,) = read(tmp_path)
    assert broken.reason is BrokenReason.PAGE_TOO_LARGE
    assert broken.detail.startswith(f"{len(html.encode()):,} bytes, more than the limit of 10,000 bytes")


@given(
    st.binary(max_size=200),
    st.sampled_from(["a.jsonl", "a.jsonl.gz", "a.warc", "a.warc.gz", "a.arc", "a.html", "a.xz"]),
)
def test_whatever_a_file_holds_nothing_is_raised(tmp_path_factory, data, name):
    directory = Path(tmp_path_factory.mktemp("files"))
    (directory / name).write_bytes(data)
    for outcome in read(directory):
        assert isinstance(outcome, RawPage | Skipped | Broken)


@pytest.mark.parametrize("compressed", [bytes, gzip.compress, lzma.compress])
def test_lines_are_read_in_another_way_whatever_the_name_but_not_beyond_their_limit(tmp_path, compressed):
    file = tmp_path / "any.html"
    file.write_bytes(compressed(b"one\n\n" + bytes(ESCAPED * MAX_BYTES + 100_000) + b"\ntwo"))
    one, long, two = read_lines(file, lambda line, limit: (line.strip(), limit), MAX_BYTES)
    assert (one, two) == ((b"one", MAX_BYTES), (b"two", MAX_BYTES))
    assert long.reason is BrokenReason.PAGE_TOO_LARGE
