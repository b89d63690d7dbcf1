import asyncio
import gzip
import json
import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import dehusk
from dehusk.inference.labelers.labeler import LOCAL_LABELERS

PROSE = "<p>A paragraph of prose, which is the whole of its page, and long enough to be one.</p>" * 3
PAGES = sorted((Path(__file__).parents[3] / "inference/golden_pages").glob("*.html"))


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


def test_the_default_extractor_is_opened_once() -> None:
    assert dehusk.extract(PROSE).model == dehusk.extract(PROSE.encode()).model
    assert dehusk.extractor._default() is dehusk.extractor._default()


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


def test_what_is_neither_text_nor_bytes_is_an_error_of_the_caller(extractor: dehusk.Extractor) -> None:
    with pytest.raises(TypeError, match="html is NoneType, neither str nor bytes"):
        extractor.extract(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="url is NoneType, not str"):
        extractor.extract(PROSE, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"comments": "all"}, "comments.*separate, include, drop"),
        ({"hidden_text": "keep"}, "hidden_text.*model, drop"),
        ({"metadata": "all"}, "metadata.*none, fast, full"),
        ({"duplicates": "all"}, "duplicates.*simhash, minhash, none"),
        ({"links": "drop"}, "links.*True or False"),
        ({"labeler": "triton"}, "labeler.*onnx, rules"),
        ({"model": "dehask"}, "dehask"),
    ],
)
def test_an_option_that_has_no_such_value_names_those_that_it_has(option: dict[str, str], said: str) -> None:
    with pytest.raises(dehusk.ConfigurationError, match=said):
        dehusk.Extractor(**option)  # type: ignore[arg-type]


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
