"""Links that the spider follows, and what it makes of a page."""

from scrapy import Request
from scrapy.http import HtmlResponse, Response

from dehusk.streams.demo.spider import CrawledPage, SiteSpider

START = "http://127.0.0.1:8000/en/index.html"


def crawl(spider: SiteSpider, body: str, url: str = START) -> tuple[CrawledPage, list[str]]:
    response = HtmlResponse(url, body=body.encode(), headers={"Content-Type": "text/html"})
    page, *requests = spider.parse(response)
    assert isinstance(page, CrawledPage)
    return page, [request.url for request in requests if isinstance(request, Request)]


def test_a_page_is_handed_on_as_it_came() -> None:
    page, _ = crawl(SiteSpider(START, 10), "<p>grüße")
    assert page == CrawledPage(START, "<p>grüße".encode(), 200, b"text/html")


def test_links_of_the_site_are_followed_once() -> None:
    spider = SiteSpider(START, 10)
    body = (
        '<a href="a.html">a</a> <a href="a.html#service">a</a> <a href="../b.html">b</a> <a href="">self</a>'
    )
    assert crawl(spider, body)[1] == ["http://127.0.0.1:8000/en/a.html", "http://127.0.0.1:8000/b.html"]
    assert crawl(spider, body, "http://127.0.0.1:8000/en/a.html")[1] == []


def test_links_that_leave_the_site_are_not_followed() -> None:
    body = '<a href="http://example.org/">x</a> <a href="http://127.0.0.1:9000/">y</a> <a href="mailto:a@b">'
    assert crawl(SiteSpider(START, 10), body)[1] == []


def test_no_more_pages_are_asked_for_than_allowed() -> None:
    body = "".join(f'<a href="{number}.html">{number}</a>' for number in range(50))
    assert len(crawl(SiteSpider(START, 5), body)[1]) == 4


def test_what_is_no_text_is_handed_on_too() -> None:
    response = Response(START, body=b"\x89PNG", headers={"Content-Type": "image/png"})
    assert list(SiteSpider(START, 10).parse(response)) == [CrawledPage(START, b"\x89PNG", 200, b"image/png")]
