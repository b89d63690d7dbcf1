"""What is compared: from the HTML of a page to its text."""

from collections.abc import Callable

from dehusk.inference.cleaning import PreparedPage, prepare
from dehusk.inference.extraction import extract
from dehusk.inference.onnx import OnnxLabeler
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import RawPage
from dehusk.training.extractors import resiliparse_text, trafilatura_text

Extractor = Callable[[bytes], str]

with_resiliparse: Extractor = resiliparse_text
with_trafilatura: Extractor = trafilatura_text


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
