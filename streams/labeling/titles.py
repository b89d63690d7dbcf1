"""The title of a page as a list names it, before the page is parsed."""

from html import unescape

_START, _END = b"<title", b"</title"
_SEARCHED_BYTES = 64 * 1024
"""From the page's beginning: heads are seldom longer."""
_MOST_BYTES = 1_000
_MOST_CHARACTERS = 200


def listed_title(html: bytes) -> str | None:
    """The text of the first `title` element of a page in UTF-8; None where its beginning has none.

    Of an SVG image or a comment before it, that is not the title which a parser finds.
    """
    start = html[:_SEARCHED_BYTES].lower().find(_START)
    text = html.find(b">", start, start + _MOST_BYTES) + 1
    if start < 0 or not text:
        return None
    title = html[text : text + _MOST_BYTES]
    end = title.lower().find(_END)
    said = unescape(title[: len(title) if end < 0 else end].decode("utf-8", "ignore"))
    return " ".join(said.split())[:_MOST_CHARACTERS].rstrip() or None
