"""The URL of a message's page, where that page cannot be cleaned or its message not be read to the end."""

from functools import cache

from dehusk.schemas.outcomes import Broken, Skipped
from dehusk.schemas.pages import Message
from dehusk.streams.sources.keys import named_url
from dehusk.streams.sources.registry import SourceSettings, open_source
from dehusk.streams.sources.source import Source


def url_in(message: Message) -> str | None:
    """The URL that the message gives as its format has it, else its header `url` or its key; or None."""
    pages = (page for page in _source().decode(message) if isinstance(page, Skipped | Broken))
    return next(filter(None, (page.url for page in pages)), None) or named_url(message)


@cache
def _source() -> Source:
    """All formats; as no page may have a single byte, each is named and none is read."""
    return open_source("auto", SourceSettings(max_bytes=0))
