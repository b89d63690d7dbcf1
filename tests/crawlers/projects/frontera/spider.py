"""A spider of Frontera, which is told its pages on a topic; it never ends."""

from scrapy import Spider

MIDDLEWARES = "frontera.contrib.scrapy.middlewares.schedulers"


class SiteSpider(Spider):
    """Fetches what the frontier asks for."""

    name = "site"
    custom_settings = {  # noqa: RUF012 as Scrapy reads it
        "FRONTERA_SETTINGS": "frontier",
        "SCHEDULER": "frontera.contrib.scrapy.schedulers.frontier.FronteraScheduler",
        "SPIDER_MIDDLEWARES": {f"{MIDDLEWARES}.SchedulerSpiderMiddleware": 999},
        "DOWNLOADER_MIDDLEWARES": {f"{MIDDLEWARES}.SchedulerDownloaderMiddleware": 999},
        "ROBOTSTXT_OBEY": False,
    }

    def parse(self, response):
        """Nothing: Frontera sends the page."""
        return []
