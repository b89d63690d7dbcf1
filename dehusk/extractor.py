"""The Python interface: pages as they are in memory, cleaned in the calling process."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Unpack
from weakref import WeakValueDictionary

from dehusk.inference.extraction import extract as extract_document
from dehusk.inference.labelers.labeler import LOCAL_LABELERS, LocalLabeler, encodings_read, open_local_labeler
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.inference.metadata.headline import find_headline
from dehusk.inference.preparing import prepare
from dehusk.inference.segmentation.parser import check_selector
from dehusk.inference.segmentation.segmentation import segment
from dehusk.inputs import Html, error_of, page_of
from dehusk.options import MOST_BYTES, Options, whole_number
from dehusk.schemas.documents import CleanedDocument, Comments, HeadlineTreatment
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.metadata import Metadata, MetadataLevel, PageMetadata
from dehusk.schemas.options import DocumentOptions, Duplicates, Favor, Rendering
from dehusk.schemas.outcomes import Broken
from dehusk.streams.settings import PageLimits

_LIMITS = PageLimits()
_models: WeakValueDictionary[Path, LocalLabeler] = WeakValueDictionary()
"""Open models by their file."""
_opening = Lock()
os.register_at_fork(  # a forked process has no thread that would release it
    before=_opening.acquire, after_in_parent=_opening.release, after_in_child=_opening.release
)


class Extractor:
    """Cleaner of pages with one model and one set of options, by the steps of `dehusk clean`.

    It is safe to use from several threads at once, but only the model, an eighth of a page's time, runs
    beside other threads: `extract_many` uses all processors. Where it is sent to another process, the model
    is loaded there anew. It holds no connection and needs no closing.

    A page is bounded in bytes and blocks, but not in CPU time or memory, as it is cleaned in this process.
    `extract_many` cleans hostile pages in processes with limits, as the command `dehusk clean` does.

    Args:
        labeler: `onnx`, a model in this process, or one without a model: `rules`, `boilerpipe-words`,
            `boilerpipe-density`, `declutter`, `grf`, `grf-words`.
        model: the name of the model in the repository.
        model_version: its version; the trusted one by default.
        model_repository: the models, as `<model>/<version>/model.onnx`; by default those that dehusk ships.
        comments: what becomes of user comments: `separate`, `include` or `drop`.
        hidden_text: what the page hides at first is left to the `model`, or `drop`ped.
        headline: whether the text begins with the headline: `separate`, not by itself, or `include`.
        metadata: how far author, date and such are looked for: `none`, `fast` or `full`.
        duplicates: the key by which near-duplicates are found: `simhash`, `minhash` or `none`.
        favor: where the labeler is unsure, `precision` leaves more out, `recall` keeps more; `balance` weighs
            missed text as much as wrong text.
        exclude: CSS selector of elements that are taken for absent, such as `.ads, nav`.
        with_blocks: whether documents list all blocks with their probabilities.
        with_links: whether documents list the links of their text, with their blocks.
        with_markdown: whether documents have their content as Markdown.
        with_html: whether documents have their content as HTML.
        links: whether Markdown and HTML have the addresses of links.
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
        model_version: str | int = "",
        model_repository: Path | str = DEFAULT_REPOSITORY,
        comments: Comments | Literal["separate", "include", "drop"] = Comments.SEPARATE,
        hidden_text: Literal["model", "drop"] = "model",
        headline: HeadlineTreatment | Literal["separate", "include"] = HeadlineTreatment.SEPARATE,
        metadata: MetadataLevel | Literal["none", "fast", "full"] = MetadataLevel.FULL,
        duplicates: Duplicates | Literal["simhash", "minhash", "none"] = Duplicates.SIMHASH,
        favor: Favor | Literal["balance", "precision", "recall"] = Favor.BALANCE,
        exclude: str = "",
        with_blocks: bool = False,
        with_links: bool = False,
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
        for name in ("with_blocks", "with_links", "with_markdown", "with_html", "links", "images", "tables"):
            if not isinstance(self._arguments[name], bool):
                raise ConfigurationError(f"{name} is {self._arguments[name]!r}; it may be True or False")
        self.document_options = DocumentOptions(
            with_blocks=with_blocks,
            with_links=with_links,
            drop_hidden=_one_of("hidden_text", hidden_text, ("model", "drop")) == "drop",
            comments=Comments(_one_of("comments", comments, tuple(Comments))),
            headline=HeadlineTreatment(_one_of("headline", headline, tuple(HeadlineTreatment))),
            metadata=MetadataLevel(_one_of("metadata", metadata, tuple(MetadataLevel))),
            duplicates=Duplicates(_one_of("duplicates", duplicates, tuple(Duplicates))),
            rendering=Rendering(with_markdown, with_html, links, images, tables),
            favor=Favor(_one_of("favor", favor, tuple(Favor))),
            exclude=_selector(exclude),
        )
        self.max_page_bytes = whole_number("max_page_bytes", max_page_bytes, MOST_BYTES)
        self.max_page_blocks = whole_number("max_page_blocks", max_page_blocks)
        self.labeler = (
            _open_model(
                _name("model", model), _name("model_version", str(model_version)), _path(model_repository)
            )
            if _one_of("labeler", labeler, ("onnx", *LOCAL_LABELERS)) == "onnx"
            else open_local_labeler(labeler)
        )
        self._encodings = encodings_read(self.labeler)

    def __reduce__(self) -> tuple[Callable[[], "Extractor"], tuple[()]]:
        return partial(Extractor, **self._arguments), ()

    def extract(
        self, html: Html, url: str | None = None, *, content_type: str = "text/html"
    ) -> CleanedDocument:
        """Clean a page and return its document.

        Args:
            html: the page as text, or as the bytes that a server sent, compressed by gzip or not.
            url: its address, whatever it looks like; None or empty if there is none. The default model reads
                it, else the address that the page declares.
            content_type: what the server declared. Bytes are decoded by its `charset`; without one, by what
                the page declares, or what is detected.

        Raises:
            ExtractionError: it is no HTML page or cannot be cleaned; `reason` says why.
            TypeError: `html` is neither text nor bytes, or another argument is no text.
        """
        page = page_of(html, url, content_type, self.max_page_bytes)
        prepared = prepare(page, self.max_page_blocks, self.document_options, encodings=self._encodings)
        if isinstance(prepared, Broken):
            raise error_of(prepared)
        labels = self.labeler.label_here(prepared.encoded)
        if isinstance(labels, Broken):
            raise error_of(labels)
        return extract_document(prepared, labels, options=self.document_options)

    async def extract_async(
        self, html: Html, url: str | None = None, *, content_type: str = "text/html"
    ) -> CleanedDocument:
        """Clean a page in a thread, so that the event loop stays free; return and raise as `extract` does."""
        return await asyncio.to_thread(self.extract, html, url, content_type=content_type)


def extract(
    html: Html, url: str | None = None, *, content_type: str = "text/html", **options: Unpack[Options]
) -> CleanedDocument:
    """Clean one page, by the options of an `Extractor`: see `Extractor.extract`.

    The model is loaded at the first call, which takes some tenths of a second, and kept, as are the latest
    extractors.
    """
    return _kept(options).extract(html, url, content_type=content_type)


def metadata(
    html: Html,
    url: str | None = None,
    *,
    content_type: str = "text/html",
    level: MetadataLevel | Literal["fast", "full"] = MetadataLevel.FULL,
    max_page_bytes: int = _LIMITS.max_bytes,
    max_page_blocks: int = _LIMITS.max_blocks,
) -> PageMetadata:
    """Return the metadata of a page, such as author and dates, and its headline; no model is loaded.

    Args:
        html: the page, as `extract` takes it.
        url: its address, the base of those in it.
        content_type: what the server declared.
        level: how far they are looked for: `fast` reads what is declared to machines, `full` bylines and
            dates in the text, too, where nothing is declared.
        max_page_bytes: the largest page, in bytes.
        max_page_blocks: the most text blocks of a page.

    Raises:
        ExtractionError: it is no HTML page or cannot be read; `reason` says why.
        ConfigurationError: an option has no such value.
        TypeError: `html` is neither text nor bytes, or another argument is no text.
    """
    known = (MetadataLevel.FAST, MetadataLevel.FULL)
    options = DocumentOptions(metadata=MetadataLevel(_one_of("level", level, known)))
    most_bytes = whole_number("max_page_bytes", max_page_bytes, MOST_BYTES)
    most_blocks = whole_number("max_page_blocks", max_page_blocks)
    page = page_of(html, url, content_type, most_bytes)
    try:
        segmented = segment(page.html, most_blocks, url=page.url, options=options)
    except PageError as error:
        raise error_of(Broken(error.reason, str(error))) from error
    found = segmented.metadata or Metadata()
    declared = {each.name: getattr(found, each.name) for each in fields(found) if each.init}
    return PageMetadata(**declared, headline=find_headline(segmented, page.url))


def _kept(options: Options) -> Extractor:
    """Return the extractor of these options, a kept one if there is one."""
    try:
        hash(tuple(options.values()))
    except TypeError:
        return Extractor(**options)  # which says what is wrong with a list
    return _extractor(**options)


@lru_cache(maxsize=8)
def _extractor(**options: Any) -> Extractor:  # noqa: ANN401 those of Extractor
    return Extractor(**options)


def _open_model(model: str, version: str, repository: Path) -> LocalLabeler:
    """Return a model, which extractors share: a version of a model never changes."""
    from dehusk.inference.labelers.onnx import OnnxLabeler  # noqa: PLC0415 protobuf is loaded only where it is used

    _, file = find_model(repository, model, version)
    with _opening:
        labeler = _models.get(file)
        if labeler is None:
            labeler = _models[file] = OnnxLabeler(model, file.parent.name, repository)
    return labeler


def _one_of(option: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ConfigurationError(f"{option} is {value!r}; it may be {', '.join(known)}")
    return value


def _text(option: str, value: str) -> str:
    if not isinstance(value, str):
        raise ConfigurationError(f"{option} is {value!r}; it is text")
    return value


def _name(option: str, value: str) -> str:
    """Return a text that may be part of a path."""
    if "\0" in _text(option, value):
        raise ConfigurationError(f"{option} is {value!r}; it has no NUL")
    return value


def _path(repository: Path | str) -> Path:
    if not isinstance(repository, Path | str):
        raise ConfigurationError(f"model_repository is {repository!r}; it is a path")
    return Path(_name("model_repository", str(repository)))


def _selector(selector: str) -> str:
    """Return a selector of excluded elements, if it is one, or empty."""
    if _text("exclude", selector):
        check_selector(selector)
    return selector
