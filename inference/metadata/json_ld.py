"""The JSON-LD of a page: its objects, and the one that describes the page.

Pages nest objects, refer from one to another, and write text that is only almost JSON.
"""

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

# ruff: noqa: SIM905 -- a table of thirty names reads better as words than as thirty strings

Item = Mapping[str, Any]

_MAX_ITEMS = 500
_MAX_TYPE = 200
"""Characters of a type, from its end, that are read."""
_MAX_REPAIRED = 50_000
"""Length of the longest text, in characters, that is repaired if it is no JSON."""
_HOLDERS = ("@graph", "mainEntity")
_BEFORE = ("\ufeff", "<!--", "//<![CDATA[", "// <![CDATA[", "/*<![CDATA[*/", "/* <![CDATA[ */", "<![CDATA[")
_NO_JSON = re.compile(
    r'("(?:[^"\\]|\\(?:.|\Z))*+(?:"|\Z))|/\*.*?(?:\*/|\Z)|//[^\n]*'
    r"|,(?=(?:\s|/\*.*?\*/|//[^\n]*)*+[}\]])",
    re.DOTALL,
)
"""Comments, and commas before a closing bracket; also strings, so that they are kept."""
_DECODER = json.JSONDecoder(strict=False)
_OF_PAGE = 2
_RANKS = (
    """
    article newsarticle blogposting technicalarticle techarticle scholarlyarticle report reportagenewsarticle
    opinionnewsarticle analysisnewsarticle reviewnewsarticle backgroundnewsarticle socialmediaposting
    discussionforumposting liveblogposting satiricalarticle advertisercontentarticle medicalscholarlyarticle
    """.split(),
    """
    recipe product event qapage howto review book movie course dataset softwareapplication jobposting
    podcastepisode creativework question musicevent productgroup webapplication mobileapplication
    softwaresourcecode medicalwebpage learningresource
    """.split(),
    "webpage itempage collectionpage aboutpage contactpage profilepage searchresultspage".split(),
    "faqpage videoobject imageobject".split(),
)  # fmt: skip
"""Types that describe a page, by rank: two of content, then the page itself, then parts of it."""
_RANK_OF = {name: rank for rank, names in enumerate(_RANKS) for name in names}


def read_items(texts: Iterable[str]) -> list[Item]:
    """Return the objects that may describe a page: those on top, in a graph, or a main entity."""
    items: list[Item] = []
    for text in texts:
        items += _items(_parsed(text), _MAX_ITEMS - len(items))
    return items


def main_item(items: Iterable[Item]) -> Item | None:
    """Return the object that describes the page: the first of the most telling types."""
    item_of_page = min(items, key=lambda item: rank_of(item.get("@type")), default=None)
    return (
        item_of_page
        if item_of_page is not None and rank_of(item_of_page.get("@type")) < len(_RANKS)
        else None
    )


def is_content(of_type: object) -> bool:
    """Return True for types of a page's content, False for types of the page or of a thing on it."""
    return rank_of(of_type) < _OF_PAGE


def rank_of(of_type: object) -> int:
    """Return the rank of a type, or the best of several, from 0, most telling, to 4, not at all."""
    if isinstance(of_type, str):
        return _rank_of(of_type[-_MAX_TYPE:])
    return min((_rank_of(each[-_MAX_TYPE:]) for each in strings(of_type)), default=len(_RANKS))


@lru_cache(1024)
def _rank_of(name: str) -> int:
    return _RANK_OF.get(type_name(name).lower(), len(_RANKS))


def type_name(of_type: str) -> str:
    """Return the name of a type, without its vocabulary."""
    return of_type.rstrip("/").rpartition("/")[2].rpartition(":")[2].rpartition("#")[2]


def is_of_type(item: Item, names: Iterable[str]) -> bool:
    """Return True for an object of one of some types."""
    return not {type_name(each) for each in strings(item.get("@type"))}.isdisjoint(names)


def by_id(items: Iterable[Item]) -> dict[str, Item]:
    """Return the objects that others can refer to; those that have only an id are references themselves."""
    named = [item for item in items if isinstance(item.get("@id"), str) and len(item) > 1]
    return {item["@id"]: item for item in reversed(named)}


def values(value: object) -> list[Any]:
    """Return one value or several as a list, bounded in length."""
    return value[:_MAX_ITEMS] if isinstance(value, list) else [] if value is None else [value]


def strings(value: object) -> list[str]:
    """Return those of the values that are text."""
    return [text for text in values(value) if isinstance(text, str)]


def _items(parsed: object, limit: int) -> Iterator[Item]:
    """Yield the objects in parsed JSON; nested ones come after those that hold them."""
    waiting, lists = deque([parsed]), limit
    while waiting and limit > 0 and lists > 0:
        value = waiting.popleft()
        if isinstance(value, list):
            lists -= 1
            waiting.extendleft(reversed(value[:limit]))
        elif isinstance(value, dict):
            limit -= 1
            yield value
            waiting += [value[name] for name in _HOLDERS if name in value]
            posts = values(value.get("blogPost"))
            waiting += posts if len(posts) == 1 else []


def _parsed(text: str) -> object:
    """Return the JSON at the beginning of a text; None if it cannot be repaired."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    if len(text) > _MAX_REPAIRED:
        return None
    try:
        value, _ = _DECODER.raw_decode(_NO_JSON.sub(lambda found: found[1] or "", _unwrapped(text)).lstrip())
    except (ValueError, RecursionError):
        return None
    return value


def _unwrapped(text: str) -> str:
    """Return a text without leading marks, such as those that hide it from old browsers."""
    text = text.strip()
    for mark in _BEFORE:
        text = text.removeprefix(mark).lstrip()
    return text
