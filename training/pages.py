"""Labeled pages: what `prepare` makes of data with gold texts, and what everything else reads."""

import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import orjson

from inference.segmentation import segment
from inference.sites import site_of
from schemas.errors import ConfigurationError
from schemas.pages import SegmentedPage
from training.alignment import content_blocks
from training.config import DataConfig
from training.directory import written_whole
from training.rebuilding import rebuilt
from training.score import kept_words, score_words, word_f1

Item = TypeVar("Item")

_ACTIVE = ("<script", "<style", "<noscript", "<svg", "<!--")


@dataclass(frozen=True, slots=True)
class GoldPage:
    """A page as the data has it: its HTML and its main content."""

    id: str
    site: str
    page_type: str
    """Empty where the page was rebuilt from blocks."""
    html: str
    text: str

    @property
    def stripped(self) -> bool:
        """Whether scripts, styles and comments were taken out before the page came here."""
        return not any(mark in self.html for mark in _ACTIVE)


@dataclass(frozen=True, slots=True)
class LabeledPage:
    """A segmented page, which of its blocks are content, and the gold text that says so."""

    id: str
    site: str
    page_type: str
    stripped: bool
    text: str
    segmented: SegmentedPage
    content: tuple[bool, ...]
    oracle: float
    """Word-level F1 of the content blocks: the best that labels can do on this page."""
    validation: bool = False
    """Whether it is held out by name, whatever its site."""


def read_gold(files: Iterable[Path]) -> Iterator[GoldPage]:
    """The pages of xz-compressed JSON lines: id, url, page_type, html, main_content; or id and blocks."""
    return read_objects(files, _gold_page)


def read_objects(files: Iterable[Path], read: Callable[[dict[str, Any]], Item]) -> Iterator[Item]:
    """What is read of each object in xz-compressed JSON lines.

    Raises:
        ConfigurationError: a line is no object, or lacks what is read of it; or the file is not compressed.
    """
    for file in files:
        number = 0
        try:
            with lzma.open(file, "rb") as lines:
                for number, line in enumerate(lines, 1):  # noqa: B007 -- the errors name it
                    yield read(orjson.loads(line))
        except (lzma.LZMAError, EOFError) as error:
            raise ConfigurationError(f"{file} is not whole, or not compressed by xz: {error}") from error
        except KeyError as error:
            raise ConfigurationError(f"line {number} of {file} has no field {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise ConfigurationError(f"line {number} of {file} is no page: {error}") from error


def _gold_page(fields: Mapping[str, Any]) -> GoldPage:
    return _from_blocks(fields) if "blocks" in fields else _from_html(fields)


def _from_html(fields: Mapping[str, Any]) -> GoldPage:
    return GoldPage(
        id=fields["id"],
        site=site_of(fields["url"] or "") or fields["id"],
        page_type=fields["page_type"],
        html=fields["html"],
        text=fields["main_content"],
    )


def _from_blocks(fields: Mapping[str, Any]) -> GoldPage:
    return GoldPage(
        id=fields["id"],
        site=fields["id"],
        page_type="",
        html=rebuilt(fields["blocks"]).html,
        text="\n".join(block["text"] for block in fields["blocks"] if block["label"] == 1),
    )


def label(page: GoldPage, share: float) -> LabeledPage:
    """The page with its blocks labeled by its gold text.

    Raises:
        PageError: the page cannot be segmented.
    """
    segmented = segment(page.html.encode("utf-8", "replace"))
    segmented = replace(segmented, lists_and_tables=None, items=None, structure=None)
    words = [score_words(text) for text in segmented.texts]
    gold = score_words(page.text)
    content = content_blocks(words, gold, share)
    chosen = kept_words(words, content)
    return LabeledPage(
        id=page.id,
        site=page.site,
        page_type=page.page_type,
        stripped=page.stripped,
        text=page.text,
        segmented=segmented,
        content=tuple(content.tolist()),
        oracle=word_f1(chosen, gold),
    )


def held_out_pages(pages: Iterable[LabeledPage], config: DataConfig | None) -> list[LabeledPage]:
    """The validation pages, and those of the sites that are never trained on, good gold or not."""
    return [page for page in pages if _is_held_out(page, config)]


def training_pages(pages: Iterable[LabeledPage], config: DataConfig | None) -> list[LabeledPage]:
    """All other pages with blocks, but those whose gold text is missing or cannot be reproduced from them."""
    kept = (page for page in pages if not _is_held_out(page, config))
    return [page for page in kept if page.content and (config is None or reliable(page, config))]


def reliable(page: LabeledPage, config: DataConfig) -> bool:
    """Whether a page has a gold text and its blocks can reproduce it."""
    return any(page.content) and page.oracle >= config.least_oracle


def _is_held_out(page: LabeledPage, config: DataConfig | None) -> bool:
    """Whether a page is held out: its site's name decides, so that no other site's pages change it."""
    share = 0.0 if config is None else config.held_out
    return page.validation or zlib.crc32(page.site.encode()) % 1000 < 1000 * share


def write_pages(file: Path, pages: Iterable[LabeledPage]) -> None:
    """Write labeled pages as JSON lines."""
    with written_whole(file) as lines:
        for page in pages:
            lines.write(orjson.dumps(asdict(page), option=orjson.OPT_APPEND_NEWLINE))


def read_pages(file: Path) -> list[LabeledPage]:
    """The labeled pages of a file that `write_pages` wrote."""
    with file.open("rb") as lines:
        return [_page(orjson.loads(line)) for line in lines]


def _page(fields: dict[str, Any]) -> LabeledPage:
    segmented: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in fields.pop("segmented").items()
    }
    content = tuple(fields.pop("content"))
    return LabeledPage(segmented=SegmentedPage(**segmented), content=content, **fields)
