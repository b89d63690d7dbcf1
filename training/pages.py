"""Pages with gold texts, as the data have them."""

import lzma
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import orjson

from inference.sites import site_of
from schemas.errors import ConfigurationError, PageError
from schemas.outcomes import Broken
from training.rebuilding import rebuilt

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


def each_labeled(
    files: Iterable[Path], label: Callable[[GoldPage], Item], processes: int, broken: list[Broken]
) -> Iterator[Item]:
    """The pages of the files, labeled by several processes, in order; `broken` gets those that cannot be."""
    with get_context("spawn").Pool(processes) as pool:
        for page in pool.imap(partial(_or_broken, label), read_gold(files), chunksize=4):
            if isinstance(page, Broken):
                broken.append(page)
            else:
                yield page


def _or_broken(label: Callable[[GoldPage], Item], page: GoldPage) -> Item | Broken:
    try:
        return label(page)
    except PageError as error:
        return Broken(error.reason, str(error), page.site)
