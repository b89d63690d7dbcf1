"""The command line of the demo's crawler, read by the spider itself."""

from dehusk.streams.demo.run import Crawler
from dehusk.streams.demo.spider import main as spider


def test_the_crawler_understands_its_command_line() -> None:
    line = Crawler("http://127.0.0.1/index.html", "127.0.0.1:9", "in", pages=7).command()
    assert line[1:3] == ["-m", "dehusk.streams.demo.spider"]
    read = spider.make_context("spider", list(line[3:])).params
    assert read == {"url": "http://127.0.0.1/index.html", "brokers": "127.0.0.1:9", "topic": "in", "pages": 7}
