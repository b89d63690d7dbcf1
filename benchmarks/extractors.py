"""Extractors that are compared: from the HTML of a page to its text."""

from collections.abc import Callable

from dehusk.inference.extraction import extract
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.preparing import prepare
from dehusk.schemas.documents import CleanedDocument
from dehusk.schemas.options import DEFAULT_OPTIONS, DocumentOptions
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import PreparedPage, RawPage


def cleaner(model: str) -> Callable[[RawPage, DocumentOptions], CleanedDocument | None]:
    """Return dehusk's own steps, one page at a time, the model in the calling thread."""
    labeler = OnnxLabeler(model)

    def clean(raw: RawPage, options: DocumentOptions) -> CleanedDocument | None:
        page = prepare(raw, options=options)
        if not isinstance(page, PreparedPage):
            return None
        labels = labeler.label_here(page.encoded)
        return None if isinstance(labels, Broken) else extract(page, labels, options=options)

    return clean


def with_dehusk(model: str) -> Callable[[bytes, str], str]:
    """Return an extractor of dehusk's own steps, which reads the URL of a page, too."""
    clean = cleaner(model)

    def text(html: bytes, url: str) -> str:
        document = clean(RawPage(url, html), DEFAULT_OPTIONS)
        return "" if document is None else document.text

    return text
