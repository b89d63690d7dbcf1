"""Other extractors: from the HTML of a page to its text."""

import trafilatura
from resiliparse.extract.html2text import extract_plain_text


def trafilatura_text(html: str | bytes, *, comments: bool = True) -> str:
    """The text of trafilatura; otherwise as it is set up by default."""
    return trafilatura.extract(html, include_comments=comments) or ""


def resiliparse_text(html: str | bytes, *, comments: bool = True) -> str:
    """The text of resiliparse's main content; bytes are UTF-8."""
    markup = html.decode("utf-8", "replace") if isinstance(html, bytes) else html
    text: str = extract_plain_text(markup, main_content=True, comments=comments)
    return text
