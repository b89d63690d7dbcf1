"""Pages with gold texts, as the data have them."""

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
from dehusk.streams.inflating import DAMAGE, inflated
from dehusk.streams.sources.encoding import encode_text
from dehusk.streams.sources.page import known_url
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
    def utf8(self) -> bytes:
        """Its HTML as a worker reads it."""
        return encode_text(self.html)

    @property
    def may_call_posts_comments(self) -> bool:
        """Whether it is a forum or a listing, where what is called a comment may be content."""
        return not {"forum", "listing"}.isdisjoint((self.page_type, self.kind))

    @property
    def stripped(self) -> bool:
        """Whether scripts, styles and comments were taken out before the page came here."""
        return not any(mark in self.html for mark in _ACTIVE)


def read_gold(files: Iterable[Path], *, needs_text: bool = True) -> Iterator[GoldPage]:
    """The pages of JSON lines: id, url, html, main_content or expected_text; or id and blocks.

    Optional fields are page_type or kind, site and comments, and without `needs_text` the gold text, too. A
    page without an id has its URL for one.
    """
    for file in files:
        read = partial(_gold_page, file.name.partition(".")[0], needs_text=needs_text)
        yield from read_objects([file], read)


def read_objects(files: Iterable[Path], read: Callable[[dict[str, Any]], Item]) -> Iterator[Item]:
    """What is read of each object in JSON lines, plain or compressed.

    Raises:
        ConfigurationError: a line is no object, or lacks what is read of it; or the file is not whole.
    """
    for file in files:
        number = 0
        try:
            with file.open("rb") as raw:
                for number, line in enumerate(inflated(raw), 1):  # noqa: B007 -- the errors name it
                    yield read(orjson.loads(line))
        except DAMAGE as error:
            raise ConfigurationError(f"{file} cannot be read to its end: {error}") from error
        except KeyError as error:
            raise ConfigurationError(f"line {number} of {file} has no field {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise ConfigurationError(f"line {number} of {file} is no page: {error}") from error


def _gold_page(collection: str, fields: Mapping[str, Any], *, needs_text: bool) -> GoldPage:
    if "blocks" in fields:
        return _from_blocks(collection, fields)
    name = "main_content" if "main_content" in fields else "expected_text"
    return _from_html(collection, fields, fields[name] if needs_text else fields.get(name))


def _from_html(collection: str, fields: Mapping[str, Any], text: str | None) -> GoldPage:
    name = str(fields.get("id") or "") or known_url(fields["url"]) or fields["id"]
    return GoldPage(
        id=name,
        collection=collection,
        site=fields.get("site") or site_of(fields["url"] or "") or name,
        page_type=fields.get("page_type", ""),
        html=fields["html"],
        text=text,
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
    pages: Iterable[GoldPage], label: Callable[[GoldPage], Item], processes: int, broken: list[Broken]
) -> Iterator[Item]:
    """The pages, labeled by several processes, in order; `broken` gets those that cannot be."""
    with get_context("spawn").Pool(processes) as pool:
        for page in pool.imap(partial(_or_broken, label), pages, chunksize=4):
            if isinstance(page, Broken):
                broken.append(page)
            else:
                yield page


def _or_broken(label: Callable[[GoldPage], Item], page: GoldPage) -> Item | Broken:
    try:
        return label(page)
    except PageError as error:
        return Broken(error.reason, str(error), page.site)
