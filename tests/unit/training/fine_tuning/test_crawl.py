import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.fine_tuning.crawl import MIN_LABELED_PAGES, read_crawled, read_others

from .conftest import harbour_html, labels_of, mill_html


def read(crawl, *files):
    return read_crawled(crawl.labels, files or [crawl.pages], lambda _: None)


def test_labeled_pages_are_found_among_others(mill):
    crawled = read(mill)
    assert [page.id for page in crawled.labeled] == [f"m{number}" for number in range(12)]
    assert len(crawled.unlabeled) == 3
    for number, page in enumerate(crawled.labeled):
        assert page.content.tolist() == labels_of(mill_html(number))
        assert len(page.words) == len(page.encoded) == len(page.content)
        assert page.site == "mill.example"


def test_html_files_are_found_below_the_url_that_they_were_labeled_with(crawl, tmp_path):
    (tmp_path / "site").mkdir()
    for number in range(MIN_LABELED_PAGES):
        html = mill_html(number)
        (tmp_path / "site" / f"{number}.html").write_text(html)
        crawl.label(f"https://mill.example/{number}.html", html, labels_of(html))
    pages = [tmp_path / "site"]
    crawled = read_crawled(crawl.labels, pages, lambda _: None, "https://mill.example")
    assert {page.site for page in crawled.labeled} == {"mill.example"}
    with pytest.raises(ConfigurationError, match="unknown-page"):
        read_crawled(crawl.labels, pages, lambda _: None)


def test_labels_of_pages_that_are_not_there_are_named(mill):
    mill.label("gone", mill_html(1), labels_of(mill_html(1)))
    with pytest.raises(ConfigurationError, match=r"unknown-page \(1: .*\): gone$"):
        read(mill)


def test_labels_of_changed_pages_are_named(mill):
    mill.add("changed", mill_html(1))
    mill.label("changed", mill_html(2), labels_of(mill_html(2)))
    with pytest.raises(ConfigurationError, match=r"changed-page \(1: .*\): changed$"):
        read(mill)


def test_half_labeled_pages_are_named(mill):
    html = mill_html(1)
    mill.add("half", html, [1, *[None] * (len(labels_of(html)) - 1)])
    with pytest.raises(ConfigurationError, match=r"half-labeled \(1: .*\): half$"):
        read(mill)


def test_of_a_page_that_came_twice_the_labeled_one_is_taken(mill):
    mill.add("twice", mill_html(20))
    mill.add("twice", mill_html(21), labels_of(mill_html(21)))
    mill.add("twice", mill_html(22))
    (page,) = (page for page in read(mill).labeled if page.id == "twice")
    assert page.content.tolist() == labels_of(mill_html(21))


def test_too_few_pages_are_counted(crawl):
    for number in range(MIN_LABELED_PAGES - 1):
        crawl.add(str(number), mill_html(number), labels_of(mill_html(number)))
    crawl.add("empty", "<body></body>", [])
    with pytest.raises(ConfigurationError, match=f"{MIN_LABELED_PAGES - 1} pages.*too few.*10"):
        read(crawl)


@pytest.mark.parametrize(("label", "kind"), [(1, "content"), (0, "boilerplate")])
def test_labels_of_one_kind_alone_are_refused(crawl, label, kind):
    for number in range(MIN_LABELED_PAGES):
        html = mill_html(number)
        crawl.add(str(number), html, [label] * len(labels_of(html)))
    with pytest.raises(ConfigurationError, match=f"10 pages .* as {kind}"):
        read(crawl)


def test_what_is_no_page_is_told_and_passed_over(mill):
    with mill.pages.open("ab") as file:
        file.write(b'{"id": "odd", "url": "https://mill.example/odd", "html": 7}\n')
    said = []
    crawled = read_crawled(mill.labels, [mill.pages], said.append)
    assert len(crawled.labeled) == 12
    assert any(line.startswith("left out odd:") for line in said)


def test_a_damaged_file_is_refused(mill, tmp_path):
    damaged = tmp_path / "pages.jsonl.gz"
    damaged.write_bytes(b"\x1f\x8b\x08\x00damaged")
    with pytest.raises(ConfigurationError, match="cannot be read to its end"):
        read(mill, mill.pages, damaged)


def test_other_pages_are_those_with_blocks(tmp_path):
    (tmp_path / "a.html").write_text(harbour_html(1))
    (tmp_path / "b.html").write_text("<html><body></body></html>")
    assert len(read_others([tmp_path], lambda _: None)) == 1
