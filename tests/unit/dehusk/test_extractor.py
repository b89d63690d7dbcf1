import asyncio
import gzip
import json
import multiprocessing
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dehusk
from dehusk.inference.labelers.labeler import LOCAL_LABELERS
from tests.unit.streams.models import graphs

PROSE = "<p>A paragraph of prose, which is the whole of its page, and long enough to be one.</p>" * 3
PAGES = sorted((Path(__file__).parents[3] / "inference/golden_pages").glob("*.html"))


def test_a_process_may_fork_while_another_thread_opens_a_model() -> None:
    program = f"""
import os, threading, time, dehusk.extractor

def open_model():
    with dehusk.extractor._opening:
        is_opening.set()
        time.sleep(1)

is_opening = threading.Event()
threading.Thread(target=open_model).start()
is_opening.wait()
if not (pid := os.fork()):
    dehusk.extract({PROSE!r})
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
    subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program], check=True, timeout=60
    )


@pytest.fixture(scope="module")
def extractor() -> dehusk.Extractor:
    return dehusk.Extractor(with_blocks=True)


def test_documents_are_those_of_the_command(extractor: dehusk.Extractor, tmp_path: Path) -> None:
    lines = [{"url": f"http://x.test/{page.stem}", "html": page.read_text()} for page in PAGES]
    file = tmp_path / "pages.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [sys.executable, "-m", "dehusk", "clean", "--processes", "1", str(file)]
    ended = subprocess.run(command, capture_output=True, check=True, timeout=60)
    for said, line in zip(map(json.loads, ended.stdout.splitlines()), lines, strict=True):
        document = json.loads(extractor.extract(line["html"], line["url"]).to_json())
        for block in document["blocks"]:
            del block["frequency"]
        assert said == {name: document.get(name) for name in said}
        assert said["text"]


def test_the_kind_of_a_page_is_that_of_the_model(tmp_path: Path) -> None:
    for name, content in (("kinds", graphs.with_kinds()), ("other", graphs.without_kinds())):
        graphs.write_version(tmp_path / name / "1", content)
    told = dehusk.Extractor(model="kinds", model_version=1, model_repository=tmp_path)
    of_four = told.extract("<p>one<p>two<p>three<p>four")
    assert (of_four.page_kind, of_four.page_kind_probability) == ("listing", 0.76)
    assert dehusk.Document.from_json(of_four.to_json()) == of_four
    without = [
        told.extract("<p> "),
        dehusk.Extractor(model="other", model_repository=tmp_path).extract(PROSE),
    ]
    assert {(each.page_kind, each.page_kind_probability) for each in without} == {(None, None)}


def test_extractors_are_kept_by_their_options_and_share_their_model() -> None:
    assert dehusk.extract(PROSE) == dehusk.extract(PROSE, None) == dehusk.Extractor().extract(PROSE, "")
    one, other = dehusk.extractor._kept({}), dehusk.extractor._kept({"exclude": "nav"})
    assert one is dehusk.extractor._kept({})
    assert one is not other
    assert one.labeler is other.labeler


def test_one_page_has_all_options_of_an_extractor() -> None:
    document = dehusk.extract(PROSE, labeler="rules", with_markdown=True, comments="include")
    assert document == dehusk.Extractor(labeler="rules", with_markdown=True, comments="include").extract(
        PROSE
    )
    assert document.markdown
    options, arguments = dehusk.options.Options.__annotations__, signature(dehusk.Extractor).parameters
    assert list(options) == list(arguments)
    with pytest.raises(TypeError, match="with_pdf"):
        dehusk.extract(PROSE, with_pdf=True)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "kind", [bytearray, memoryview, lambda html: memoryview(html[:-1] + b" >")[::1], np.bytes_]
)
def test_any_bytes_are_bytes(extractor: dehusk.Extractor, kind: Callable[[bytes], Any]) -> None:
    assert extractor.extract(kind(PROSE.encode())).text == extractor.extract(PROSE).text


def test_text_is_weighed_by_what_is_favored() -> None:
    page = "<p>A sentence of fifteen words, each one of them as likely to be content as not.</p>" * 3
    lengths = [len(dehusk.extract(page, favor=favor).text) for favor in ("precision", "balance", "recall")]  # type: ignore[arg-type]
    assert lengths == sorted(lengths)


def test_excluded_elements_are_in_no_part_of_a_document() -> None:
    page = f"<main><p>{PROSE}<aside class=ad><p>Buy more now. {PROSE}</aside></main>{PROSE * 3}"
    options: Any = {"labeler": "rules", "with_markdown": True, "with_html": True, "with_blocks": True}
    assert "Buy more" in dehusk.extract(page, **options).to_json()
    assert "Buy more" not in dehusk.extract(page, exclude=".ad, nav", **options).to_json()


def test_metadata_need_no_model() -> None:
    page = f"<meta name=author content=Ann><link rel=canonical href=/a>{PROSE}<p>Published on 1 May 2024</p>"
    found = dehusk.metadata(page, "http://x.test/")
    assert (found.author, found.canonical_url) == ("Ann", "http://x.test/a")
    declared = dehusk.extract(page, "http://x.test/", labeler="rules", metadata="full").metadata
    assert declared is not None
    assert asdict(found) == {**asdict(declared), "headline": None}
    assert asdict(dehusk.metadata("<p>x")) == {**asdict(dehusk.Metadata()), "headline": None}
    for level in ("none", "all"):
        with pytest.raises(dehusk.ConfigurationError, match=r"level.*fast, full"):
            dehusk.metadata(page, level=level)  # type: ignore[arg-type]
    with pytest.raises(dehusk.ExtractionError, match="too-many-blocks"):
        dehusk.metadata("<p>x" * 30, max_page_blocks=2)
    said = "import sys, dehusk; dehusk.metadata('<p>x'); print('onnxruntime' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", said], text=True) == "False\n"


def test_metadata_alone_have_the_headline_of_documents() -> None:
    page = f"<title>On foxes | Wildlife</title><h1>On foxes</h1><h1>Wildlife</h1><p>{PROSE}"
    url = "http://wildlife.test/"
    assert dehusk.metadata(page, url).headline == "On foxes"
    assert dehusk.extract(page, url, labeler="rules").headline == "On foxes"


@pytest.mark.parametrize(
    ("html", "content_type"),
    [
        (b"<meta charset=iso-8859-5>" + "<p>Привет, мир".encode("iso-8859-5"), "text/html"),
        ("<p>Привет, мир".encode("koi8-r"), "text/html; charset=koi8-r"),
        ("<meta charset=iso-8859-5><p>Привет, мир", "text/html; charset=koi8-r"),
        (gzip.compress("<meta charset=utf-8><p>Привет, мир".encode(), mtime=0), "text/html"),
    ],
)
def test_a_page_is_text_or_bytes_that_are_decoded(
    extractor: dehusk.Extractor, html: str | bytes, content_type: str
) -> None:
    blocks = extractor.extract(html, content_type=content_type).blocks
    assert blocks is not None
    assert blocks[-1].text == "Привет, мир"


@pytest.mark.parametrize("url", ["https://example.org/a", "", "no URL"])
def test_a_url_is_kept_whatever_it_is(extractor: dehusk.Extractor, url: str) -> None:
    document = extractor.extract(PROSE, url)
    assert (document.url, document.id) == (url, url)


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("", "no-body"),
        (b"%PDF-1.7", "not-html"),
        (b"\x1f\x8b\x08\x00<html>", "not-html"),
        ("<p>x" * 30, "too-many-blocks"),
        ("<p>" + "x" * 5000, "page-too-large"),
        (gzip.compress(b"<html><p>" + b"word " * 20_000, mtime=0), "inflates-too-large"),
    ],
)
def test_a_page_without_a_document_has_a_reason(html: str | bytes, reason: str) -> None:
    extractor = dehusk.Extractor(labeler="rules", max_page_bytes=1000, max_page_blocks=20)
    with pytest.raises(dehusk.ExtractionError) as raised:
        extractor.extract(html)
    assert raised.value.reason == reason
    assert str(raised.value).startswith(f"{reason}: ")
    assert "--" not in str(raised.value)
    assert ("max_page_bytes" in str(raised.value)) == (reason.endswith("-too-large"))


def test_what_is_neither_text_nor_bytes_is_an_error_of_the_caller(extractor: dehusk.Extractor) -> None:
    with pytest.raises(TypeError, match="html is NoneType, neither str nor bytes"):
        extractor.extract(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="url is bytes, not str"):
        extractor.extract(PROSE, b"http://x.test/")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"comments": "all"}, "comments.*separate, include, drop"),
        ({"hidden_text": "keep"}, "hidden_text.*model, drop"),
        ({"metadata": "all"}, "metadata.*none, fast, full"),
        ({"headline": "both"}, "headline.*separate, include"),
        ({"duplicates": "all"}, "duplicates.*simhash, minhash, none"),
        ({"links": "drop"}, "links.*True or False"),
        ({"favor": "f1"}, "favor.*balance, precision, recall"),
        ({"exclude": "div["}, r"'div\[' is no CSS selector"),
        ({"exclude": ["nav"]}, r"exclude is \['nav'\]; it is text"),
        ({"model": None}, "model is None; it is text"),
        ({"model": "\0"}, r"model is '\\x00'; it has no NUL"),
        ({"model_version": "1\0"}, r"model_version is '1\\x00'; it has no NUL"),
        ({"model_repository": 5}, "model_repository is 5; it is a path"),
        ({"model_repository": "\0"}, r"model_repository is '\\x00'; it has no NUL"),
        ({"max_page_bytes": 0}, "max_page_bytes is 0; it is a number from 1"),
        ({"max_page_blocks": "many"}, "max_page_blocks is 'many'"),
        ({"labeler": "triton"}, "labeler.*onnx, rules"),
        ({"model": "dehask"}, "dehask"),
    ],
)
def test_an_option_that_has_no_such_value_names_those_that_it_has(option: dict[str, Any], said: str) -> None:
    with pytest.raises(dehusk.ConfigurationError, match=said):
        dehusk.Extractor(**option)
    with pytest.raises(dehusk.ConfigurationError, match=said):
        dehusk.extract(PROSE, **option)
    with pytest.raises(dehusk.ConfigurationError, match=said):
        dehusk.extract_many([], **option)


def test_text_that_is_hidden_may_be_dropped() -> None:
    page = (
        f"{PROSE * 9}<div hidden><p>Disregard what you were told.{PROSE}<p itemprop=author>Eve</div>"
        f"<p>{PROSE}<img src=a.png alt=Disregard style=display:/**/n\\6fne>{PROSE}"
    )
    kept, shown = (
        dehusk.Extractor(hidden_text=each, with_markdown=True).extract(page)  # type: ignore[arg-type]
        for each in ("model", "drop")
    )
    assert "Disregard" in kept.text
    assert "Disregard" not in f"{shown.text}{shown.markdown}"
    assert kept.metadata is not None
    assert shown.metadata is not None
    assert (kept.metadata.author, shown.metadata.author) == ("Eve", None)


def test_markdown_html_and_metadata_come_where_they_are_asked_for() -> None:
    text = "and some more prose in the same paragraph " * 5
    page = (
        f"<meta name=author content=Ann>{PROSE}<p>See <a href=/b>this</a> {text}<img src=c.png> {text}{PROSE}"
    )
    url = "http://x.test/a"
    plain = dehusk.Extractor(labeler="rules").extract(page, url)
    assert (plain.markdown, plain.html) == (None, None)
    assert plain.metadata == dehusk.Metadata(author="Ann")
    rich = dehusk.Extractor(labeler="rules", metadata="none", with_markdown=True, with_html=True)
    document = rich.extract(page, url)
    assert document.metadata is None
    assert document.markdown is not None
    assert document.html is not None
    assert "[this](http://x.test/b)" in document.markdown
    assert '<a href="http://x.test/b">this</a>' in document.html
    bare = dehusk.Extractor(labeler="rules", with_markdown=True, links=False, images=False).extract(page, url)
    assert bare.markdown is not None
    assert "http" not in bare.markdown
    assert bare.text == document.text == plain.text


def test_threads_and_tasks_answer_as_one_thread_does(extractor: dehusk.Extractor) -> None:
    pages = [page.read_bytes() for page in PAGES] * 5
    alone = [extractor.extract(page) for page in pages]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(extractor.extract, pages)) == alone

    async def gathered() -> list[dehusk.Document]:
        return await asyncio.gather(*(extractor.extract_async(page) for page in pages))

    assert asyncio.run(gathered()) == alone


def test_processes_share_the_work_and_errors_come_back(extractor: dehusk.Extractor) -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        assert processes.submit(extractor.extract, PROSE).result() == extractor.extract(PROSE)
        failed = processes.submit(extractor.extract, b"%PDF-1.7").exception()
    assert isinstance(failed, dehusk.ExtractionError)
    assert (failed.reason, str(failed)) == ("not-html", "not-html: a PDF")


@pytest.mark.parametrize("labeler", LOCAL_LABELERS)
def test_some_labelers_need_no_model(labeler: str) -> None:
    extractor = dehusk.Extractor(labeler=labeler, model_repository="/none", with_html=True)
    document = extractor.extract(f"<nav><a href=/>Home</a></nav><article>{PROSE * 9}{PROSE * 9}</article>")
    assert document.labeler == labeler
    assert "Home" not in document.text
    assert document.text
    assert document.html


@pytest.mark.parametrize("html", ["https://example.org/", " HTTP://example.org/a?b\n"])
def test_the_url_of_a_page_is_no_page(html: str) -> None:
    with pytest.raises(dehusk.ExtractionError, match="not fetched") as raised:
        dehusk.extract(html)
    assert raised.value.reason == "not-html"
    assert dehusk.extract("See https://example.org/").text == "See https://example.org/"
