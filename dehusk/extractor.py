"""The Python interface: pages as they are in memory, cleaned in the calling process."""

import asyncio
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

from dehusk.inference.extraction import extract as extract_document
from dehusk.inference.labelers.labeler import LOCAL_LABELERS, LocalLabeler, encodings_read, open_local_labeler
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.inference.preparing import prepare
from dehusk.schemas.documents import CleanedDocument, Comments
from dehusk.schemas.errors import ConfigurationError, ExtractionError
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.options import DocumentOptions, Duplicates, Rendering
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import RawPage
from dehusk.streams.settings import PageLimits
from dehusk.streams.sources.page import offline_page

_LIMITS = PageLimits()


class Extractor:
    """Cleaner of pages with one model and one set of options, by the steps of `dehusk clean`.

    It is safe to use from several threads at once; the model, half of a page's time, runs beside other
    threads. Where it is sent to another process, the model is loaded there anew. It holds no connection and
    needs no closing.

    A page is bounded in bytes and blocks, but not in CPU time or memory, as it is cleaned in this process.
    The command `dehusk clean` cleans hostile pages in processes with limits.

    Args:
        labeler: `onnx`, a model in this process, or one without a model: `rules`, `boilerpipe-words`,
            `boilerpipe-density`, `declutter`, `grf`, `grf-words`.
        model: the name of the model in the repository.
        model_version: its version; the newest by default.
        model_repository: the models, as `<model>/<version>/model.onnx`; by default those that dehusk ships.
        comments: what becomes of user comments: `separate`, `include` or `drop`.
        hidden_text: what the page hides at first is left to the `model`, or `drop`ped.
        metadata: how far author, date and such are looked for: `none`, `fast` or `full`.
        duplicates: the key by which near-duplicates are found: `simhash`, `minhash` or `none`.
        with_blocks: whether documents list all blocks with their probabilities.
        with_markdown: whether documents have their content as Markdown.
        with_html: whether documents have their content as HTML.
        links: whether these have the addresses of links.
        images: whether these have images.
        tables: whether these have tables.
        max_page_bytes: the largest page, in bytes.
        max_page_blocks: the most text blocks of a page.

    Raises:
        ConfigurationError: an option has no such value, or the repository holds no such model.
    """

    def __init__(
        self,
        *,
        labeler: str = "onnx",
        model: str = "dehusk",
        model_version: str = "",
        model_repository: Path | str = DEFAULT_REPOSITORY,
        comments: Comments | Literal["separate", "include", "drop"] = Comments.SEPARATE,
        hidden_text: Literal["model", "drop"] = "model",
        metadata: MetadataLevel | Literal["none", "fast", "full"] = MetadataLevel.FAST,
        duplicates: Duplicates | Literal["simhash", "minhash", "none"] = Duplicates.SIMHASH,
        with_blocks: bool = False,
        with_markdown: bool = False,
        with_html: bool = False,
        links: bool = True,
        images: bool = True,
        tables: bool = True,
        max_page_bytes: int = _LIMITS.max_bytes,
        max_page_blocks: int = _LIMITS.max_blocks,
    ) -> None:
        self._arguments = {
            name: value for name, value in locals().items() if name not in {"self", "__class__"}
        }
        for name in ("with_blocks", "with_markdown", "with_html", "links", "images", "tables"):
            if not isinstance(self._arguments[name], bool):
                raise ConfigurationError(f"{name} is {self._arguments[name]!r}; it may be True or False")
        self._options = DocumentOptions(
            with_blocks=with_blocks,
            drop_hidden=_one_of("hidden_text", hidden_text, ("model", "drop")) == "drop",
            comments=Comments(_one_of("comments", comments, tuple(Comments))),
            metadata=MetadataLevel(_one_of("metadata", metadata, tuple(MetadataLevel))),
            duplicates=Duplicates(_one_of("duplicates", duplicates, tuple(Duplicates))),
            rendering=Rendering(with_markdown, with_html, links, images, tables),
        )
        self._max_bytes, self._max_blocks = max_page_bytes, max_page_blocks
        self._labeler = (
            _open_model(model, model_version, Path(model_repository))
            if _one_of("labeler", labeler, ("onnx", *LOCAL_LABELERS)) == "onnx"
            else open_local_labeler(labeler)
        )
        self._encodings = encodings_read(self._labeler)

    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], "Extractor"], tuple[dict[str, Any]]]:
        return _opened, (self._arguments,)

    def extract(
        self, html: str | bytes, url: str = "", *, content_type: str = "text/html"
    ) -> CleanedDocument:
        """Clean a page and return its document.

        Args:
            html: the page as text, or as the bytes that a server sent, compressed by gzip or not.
            url: its address, whatever it looks like; empty if there is none.
            content_type: what the server declared. Bytes are decoded by its `charset`; without one, by what
                the page declares, or what is detected.

        Raises:
            ExtractionError: it is no HTML page or cannot be cleaned; `reason` says why.
            TypeError: `html` is neither text nor bytes, or another argument is no text.
        """
        prepared = prepare(
            self._page(html, url, content_type),
            self._max_blocks,
            self._options,
            encodings=self._encodings,
        )
        if isinstance(prepared, Broken):
            raise ExtractionError(prepared.reason, prepared.detail)
        labels = self._labeler.label_here(prepared.encoded)
        if isinstance(labels, Broken):
            raise ExtractionError(labels.reason, labels.detail)
        return extract_document(prepared, labels, options=self._options)

    async def extract_async(
        self, html: str | bytes, url: str = "", *, content_type: str = "text/html"
    ) -> CleanedDocument:
        """Clean a page in a thread, so that the event loop stays free; return and raise as `extract` does."""
        return await asyncio.to_thread(self.extract, html, url, content_type=content_type)

    def _page(self, html: str | bytes, url: str, content_type: str) -> RawPage:
        if not isinstance(html, str | bytes):
            raise TypeError(f"html is {type(html).__name__}, neither str nor bytes")
        for name, value in (("url", url), ("content_type", content_type)):
            if not isinstance(value, str):
                raise TypeError(f"{name} is {type(value).__name__}, not str")
        page = offline_page(
            url=url, body=html, content_type=content_type, source="python", max_bytes=self._max_bytes
        )
        if not isinstance(page, RawPage):
            raise ExtractionError(page.reason, page.detail)
        return page


def extract(html: str | bytes, url: str = "", *, content_type: str = "text/html") -> CleanedDocument:
    """Clean one page by the default model and options: see `Extractor.extract`.

    The model is loaded at the first call, which takes some tenths of a second, and kept.
    """
    return _default().extract(html, url, content_type=content_type)


def _opened(options: dict[str, Any]) -> Extractor:
    return Extractor(**options)


@cache
def _default() -> Extractor:
    return Extractor()


def _open_model(model: str, version: str, repository: Path) -> LocalLabeler:
    from dehusk.inference.labelers.onnx import OnnxLabeler  # noqa: PLC0415 its runtime is loaded only where it is used

    return OnnxLabeler(model, version, repository)


def _one_of(option: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ConfigurationError(f"{option} is {value!r}; it may be {', '.join(known)}")
    return value
