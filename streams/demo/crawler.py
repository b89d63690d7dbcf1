"""The crawler of the demo as a program that runs beside the local stack."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Crawler:
    """A Scrapy spider that follows the links of one site."""

    start: str
    brokers: str
    topic: str
    pages: int
    name: str = "crawler"

    def preparation(self) -> Sequence[str]:
        """Nothing to prepare."""
        return ()

    def command(self) -> Sequence[str]:
        """The command line; it ends by itself when no new link is left."""
        options = ["--brokers", self.brokers, "--topic", self.topic, "--pages", str(self.pages)]
        return [sys.executable, "-m", "dehusk.streams.demo.spider", self.start, *options]

    def environment(self) -> Mapping[str, str]:
        """Nothing: all is on the command line."""
        return {}

    def is_ready(self) -> bool:
        """Always: nobody has to wait for it."""
        return True
