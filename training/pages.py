"""Pages with gold texts, as the data have them."""

import lzma
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import orjson

from dehusk.inference.sites import site_of
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken
from dehusk.training.blocks import Block
from dehusk.training.rebuilding import rebuilt

Item = TypeVar("Item")

_ACTIVE = ("<script", "<style", "<noscript", "<svg", "<!--")


@dataclass(frozen=True, slots=True)
class GoldPage:
    """A page as the data has it: its HTML and its main content."""

    id: str
    site: str
    page_type: str
    """Empty where it is not known."""
    html: str
    text: str | None
    """None where it is not known."""
    collection: str = ""
    """The name of the file that it is in."""
    comments: str | None = None
    """The text of its user comments; None where it is not known."""
    kind: str = ""
    """What its site is, such as `blog`; empty where it is not known."""
    blocks: tuple[Block, ...] = ()
    """The labeled blocks that the HTML was rebuilt from; none of a page that came as HTML."""

    @property
    def may_call_posts_comments(self) -> bool:
        """Whether it is a forum or a listing, where what is called a comment may be content."""
        return not {"forum", "listing"}.isdisjoint((self.page_type, self.kind))

    @property
    def stripped(self) -> bool:
        """Whether scripts, styles and comments were taken out before the page came here."""
        return not any(mark in self.html for mark in _ACTIVE)


def read_gold(files: Iterable[Path]) -> Iterator[GoldPage]:
    """The pages of xz-compressed JSON lines: id, url, html, main_content or expected_text; or id and blocks.

    Optional fields are page_type or kind, site and comments.
    """
    for file in files:
        yield from read_objects([file], partial(_gold_page, file.name.partition(".")[0]))


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


def _gold_page(collection: str, fields: Mapping[str, Any]) -> GoldPage:
    return (_from_blocks if "blocks" in fields else _from_html)(collection, fields)


def _from_html(collection: str, fields: Mapping[str, Any]) -> GoldPage:
    return GoldPage(
        id=fields["id"],
        collection=collection,
        site=fields.get("site") or site_of(fields["url"] or "") or fields["id"],
        page_type=fields.get("page_type", ""),
        html=fields["html"],
        text=fields["main_content"] if "main_content" in fields else fields["expected_text"],
        comments=fields.get("comments"),
        kind=fields.get("kind") or "",
    )


def _from_blocks(collection: str, fields: Mapping[str, Any]) -> GoldPage:
    return GoldPage(
        id=fields["id"],
        collection=collection,
        site=fields["id"],
        page_type="",
        html=rebuilt(fields["blocks"]).html,
        text="\n".join(block["text"] for block in fields["blocks"] if block["label"] == 1),
        blocks=tuple(fields["blocks"]),
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
