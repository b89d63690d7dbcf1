"""A Scrapy project as small as one can be: its items hold what the pipeline of the docs sends."""

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class SiteSpider(CrawlSpider):
    """Follows the links of one site, from `-a start=URL`."""

    name = "site"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def __init__(self, start: str) -> None:
        self.start_urls = [start]
        super().__init__()

    def parse_start_url(self, response: Response) -> Iterator[dict[str, Any]]:
        """The first page."""
        return self.parse_page(response)

    def parse_page(self, response: Response) -> Iterator[dict[str, Any]]:
        """The item of a page."""
        yield {"page": response}
