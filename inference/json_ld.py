"""The JSON-LD of a page: its objects, and the one among them that describes the page.

Pages nest them, refer from one to the other, and write them in what is only almost JSON.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

# ruff: noqa: SIM905 -- a table of thirty names reads better as words than as thirty strings

Item = Mapping[str, Any]

_MOST_ITEMS = 500
_MOST_REPAIRED = 50_000
"""Characters of the longest text that is repaired where it is no JSON."""
_HOLDERS = ("@graph", "mainEntity")
_BEFORE = ("\ufeff", "<!--", "//<![CDATA[", "// <![CDATA[", "/*<![CDATA[*/", "/* <![CDATA[ */", "<![CDATA[")
_NO_JSON = re.compile(
    r'("(?:[^"\\]|\\(?:.|\Z))*+(?:"|\Z))|/\*.*?(?:\*/|\Z)|//[^\n]*'
    r"|,(?=(?:\s|/\*.*?\*/|//[^\n]*)*+[}\]])",
    re.DOTALL,
)
"""Comments and the commas that nothing follows; strings, too, which are kept."""
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
"""Types of what describes a page: its content, most or less tellingly, the page, what is beside content."""
_RANK_OF = {name: rank for rank, names in enumerate(_RANKS) for name in names}


def read_items(texts: Iterable[str]) -> list[Item]:
    """The objects of all texts that may describe a page: those on top, in a graph, or a main entity."""
    items: list[Item] = []
    for text in texts:
        items += _items(_parsed(text), _MOST_ITEMS - len(items))
    return items


def main_item(items: Iterable[Item]) -> Item | None:
    """The object that describes the page: the first of the most telling types."""
    ranked = ((rank_of(item.get("@type")), item) for item in items)
    _, found = min(ranked, key=lambda pair: pair[0], default=(len(_RANKS), None))
    return found if found is not None and rank_of(found.get("@type")) < len(_RANKS) else None


def is_content(of_type: object) -> bool:
    """Whether what has this type, or these types, is the content of a page, not the page or a thing on it."""
    return rank_of(of_type) < _OF_PAGE


def rank_of(of_type: object) -> int:
    """How telling a type is, or the best of several: 0 is most, 4 is not at all."""
    if isinstance(of_type, str):
        return _rank_of(of_type)
    return min(map(_rank_of, strings(of_type)), default=len(_RANKS))


@lru_cache(1024)
def _rank_of(name: str) -> int:
    return _RANK_OF.get(type_name(name).lower(), len(_RANKS))


def type_name(of_type: str) -> str:
    """The name of a type, without the vocabulary that it is from."""
    return of_type.rstrip("/").rpartition("/")[2].rpartition(":")[2].rpartition("#")[2]


def by_id(items: Iterable[Item]) -> dict[str, Item]:
    """The objects that others can refer to."""
    return {item["@id"]: item for item in reversed([*items]) if isinstance(item.get("@id"), str)}


def values(value: object) -> list[Any]:
    """One value or several, as a list of at most so many as anyone needs."""
    return value[:_MOST_ITEMS] if isinstance(value, list) else [] if value is None else [value]


def strings(value: object) -> list[str]:
    """Those of the values that are text."""
    return [each for each in values(value) if isinstance(each, str)]


def _items(parsed: object, most: int) -> Iterator[Item]:
    """The objects in parsed JSON; nested ones come behind those that hold them."""
    waiting = [parsed]
    while waiting and most > 0:
        value = waiting.pop(0)
        if isinstance(value, list):
            waiting[:0] = value[:most]
        elif isinstance(value, dict):
            most -= 1
            yield value
            waiting += [value[name] for name in _HOLDERS if name in value]


def _parsed(text: str) -> object:
    """What a text holds, whatever follows it there; None where it cannot be made JSON of."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    if len(text) > _MOST_REPAIRED:
        return None
    try:
        value, _ = _DECODER.raw_decode(_NO_JSON.sub(lambda found: found[1] or "", _unwrapped(text)).lstrip())
    except (ValueError, RecursionError):
        return None
    return value


def _unwrapped(text: str) -> str:
    """A text without what stands before it, such as what hides it from old browsers."""
    text = text.strip()
    for mark in _BEFORE:
        text = text.removeprefix(mark).lstrip()
    return text
