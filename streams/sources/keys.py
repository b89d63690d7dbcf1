"""The URL that a message has beside its value: in its header `url`, else as its key."""

import codecs
import re
from collections.abc import Iterator
from urllib.parse import unquote_plus

from dehusk.schemas.pages import Message
from dehusk.streams.sources.page import known_url

_PERCENT = "dehusk-percent"
_QUOTED = re.compile(r"(?:https?|file)%3A%2F%2F", re.IGNORECASE)
"""How a URL begins that is percent-encoded as a whole, as ACHE writes its keys."""


def named_urls(message: Message) -> Iterator[str]:
    """What may be the URL of the message's page, in the order in which it counts."""
    for name in (message.header("url"), message.key):
        if name:
            yield _text(name)


def named_url(message: Message) -> str | None:
    """The URL of the message's page as it is keyed, or None where header and key hold none."""
    return next(filter(None, map(known_url, named_urls(message))), None)


def _text(name: bytes) -> str:
    """A name as text; bytes that are no UTF-8 are percent-encoded, so that no two names become one."""
    text = name.decode("utf-8", _PERCENT)
    return unquote_plus(text, errors=_PERCENT) if _QUOTED.match(text) else text


def _percent_encode(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(f"%{byte:02X}" for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_PERCENT, _percent_encode)
