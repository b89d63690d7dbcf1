"""What is compared: from the HTML of a page to its text."""

from collections.abc import Callable

import trafilatura
from resiliparse.extract.html2text import extract_plain_text

from dehusk.inference.cleaning import PreparedPage, prepare
from dehusk.inference.extraction import extract
from dehusk.inference.onnx import OnnxLabeler
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import RawPage

Extractor = Callable[[bytes], str]


def with_resiliparse(html: bytes) -> str:
    """The text of resiliparse's main content."""
    text: str = extract_plain_text(html.decode(), main_content=True)
    return text


def with_trafilatura(html: bytes) -> str:
    """The text of trafilatura, as it is set up by default."""
    return trafilatura.extract(html) or ""


def with_dehusk(model: str) -> Extractor:
    """The text of dehusk's own steps, one page at a time, the model in the calling thread."""
    labeler = OnnxLabeler(model)

    def text(html: bytes) -> str:
        page = prepare(RawPage("http://example.org/", html))
        if not isinstance(page, PreparedPage):
            return ""
        labels = labeler.label_here(page.encoded)
        return "" if isinstance(labels, Broken) else extract(page, labels, None).text

    return text
