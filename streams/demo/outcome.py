"""What became of the crawled pages, counted from the topics themselves."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypedDict

import orjson

from dehusk.schemas.documents import Origin
from dehusk.streams.consuming import read
from dehusk.streams.dead_letters import read_dead_letter
from dehusk.streams.settings import KafkaSettings

_EXAMPLE_CHARACTERS = 3000
"""The page shown as an example is the one whose visible text is nearest to this length."""


class Block(NamedTuple):
    """A text block of a page, and whether it was kept."""

    text: str
    content: bool


class _DocumentBlock(TypedDict):
    text: str
    content: bool


class _Document(TypedDict):
    """What is read of a document's JSON."""

    url: str
    text: str
    blocks: list[_DocumentBlock]


@dataclass(slots=True)
class Crawled:
    """The pages on the input topic."""

    urls: set[bytes] = field(default_factory=set)
    messages: int = 0
    bytes: int = 0
    first: float = float("inf")
    """When the first page was written, in seconds since 1970."""


@dataclass(slots=True)
class Cleaned:
    """The documents on the output topic."""

    urls: set[bytes] = field(default_factory=set)
    empty: int = 0
    """Documents without text."""
    visible: int = 0
    """Characters of all blocks of the pages."""
    kept: int = 0
    """Characters of the blocks that are content."""
    example_url: str = ""
    example: list[Block] = field(default_factory=list)

    def add(self, document: _Document) -> None:
        """Count a document, and keep it if it makes a better example."""
        blocks = [Block(block["text"], block["content"]) for block in document["blocks"]]
        self.empty += not document["text"]
        self.visible += _length(blocks)
        self.kept += _length([block for block in blocks if block.content])
        if not self.example_url or _distance(blocks) < _distance(self.example):
            self.example_url, self.example = document["url"], blocks


@dataclass(slots=True)
class Dead:
    """The messages on the dead-letter topic."""

    origins: set[Origin] = field(default_factory=set)
    reasons: Counter[str] = field(default_factory=Counter)


async def read_crawled(kafka: KafkaSettings, topic: str) -> Crawled:
    """Count the input topic."""
    crawled = Crawled()
    async for message, milliseconds in read(kafka, topic):
        crawled.urls.add(message.key or b"")
        crawled.messages += 1
        crawled.bytes += len(message.value or b"")
        crawled.first = min(crawled.first, milliseconds / 1000)
    return crawled


async def read_cleaned(kafka: KafkaSettings, topic: str, file: Path) -> Cleaned:
    """Count the output topic, and write its documents to a file as JSON lines."""
    cleaned = Cleaned()
    with file.open("wb") as lines:
        async for message, _ in read(kafka, topic):
            if message.key and message.value and message.key not in cleaned.urls:
                cleaned.urls.add(message.key)
                cleaned.add(orjson.loads(message.value))
                lines.write(message.value + b"\n")
    return cleaned


async def read_dead(kafka: KafkaSettings, topic: str, file: Path) -> Dead:
    """Count the dead-letter topic, and write where its messages came from and why to a file as JSON lines."""
    dead = Dead()
    with file.open("wb") as lines:
        async for message, _ in read(kafka, topic):
            letter = read_dead_letter(message)
            if letter is not None and letter.origin not in dead.origins:
                dead.origins.add(letter.origin)
                dead.reasons[letter.reason] += 1
                told = {"url": letter.url, "reason": letter.reason, "detail": letter.detail}
                lines.write(orjson.dumps(told | {"source": letter.origin}) + b"\n")
    return dead


def _length(blocks: list[Block]) -> int:
    return sum(len(block.text) for block in blocks)


def _distance(blocks: list[Block]) -> int:
    return abs(_length(blocks) - _EXAMPLE_CHARACTERS)
