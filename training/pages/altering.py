"""Pages altered to learn from: comments under another name, shortened pages, and words in other scripts.

Nearly every page to train on calls comments `comment` in its classes and ids, and in the heading above them.
A model that has met no other name takes comments of another name for posts of a forum, or paragraphs.
"""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from selectolax.lexbor import LexborHTMLParser, LexborNode

from dehusk.training.arrays import Bools

_NAMES = (
    ("cmt", "cmts", "コメント"),
    ("comentario", "comentarios", "Comentarios"),
    ("comentario", "comentarios", "Comentários"),
    ("commentaire", "commentaires", "Commentaires"),
    ("commento", "commenti", "Commenti"),
    ("discussion", "discussions", "Discussion"),
    ("hozzaszolas", "hozzaszolasok", "Hozzászólások"),
    ("komentar", "komentare", "Komentáře"),
    ("komentarz", "komentarze", "Komentarze"),
    ("kommentar", "kommentare", "Kommentare"),
    ("kommentar", "kommentarer", "Kommentarer"),
    ("kommentti", "kommentit", "Kommentit"),
    ("opinion", "opiniones", "Opiniones"),
    ("pinglun", "pinglun", "评论"),
    ("reactie", "reacties", "Reacties"),
    ("reaction", "reactions", "Reactions"),
    ("talkback", "talkbacks", "Talkback"),
    ("yorum", "yorumlar", "Yorumlar"),
)
"""Names of one comment, of several, and text of the heading above them."""
_VAGUE = (
    ("entry", "entries", "Comments"),
    ("item", "items", "Comments"),
    ("message", "messages", "Comments"),
    ("reply", "replies", "Replies"),
    ("response", "responses", "Responses"),
    ("talk", "talks", "Comments"),
)
"""The same where only the heading tells comments from posts."""
_NAMED = ("class", "id")
_CALLED = re.compile("comment(s?)", re.IGNORECASE)
_MICRODATA = "[itemprop*=comment i], [itemtype*=comment i]"
_HEADINGS = "h1, h2, h3, h4, h5, h6"
_MAX_WORDS = 6
"""Words of a heading above comments."""
_CALLED_IN_HEADINGS = re.compile(r"\b(comments?|responses?|replies|reactions?)\b", re.IGNORECASE)
_PARAGRAPHS = "p, li, dd, dt, blockquote, pre, table, figure, h2, h3, h4, h5, h6"
_MIN_COMMENTS = 10
"""Blocks of comments that a page must have to be shortened."""
_MIN_PARAGRAPHS = 3
"""Paragraphs that must be taken out."""
_MIN_LEFT, _MORE = 2, 7
"""Fewest comments that are left where most are taken out, and the range from which their number is chosen."""
_MARKUP = re.compile(
    r"(<(script|style|noscript|textarea)\b.*?</\2\s*>|<!--.*?-->|<[^>]*>|&#?\w+;)|([^<&]+)",
    re.DOTALL | re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_BETWEEN_WORDS = re.compile(r"(?<=\S) (?=\S)")


def renamed(page: str, html: str) -> str | None:
    """Return the HTML with its comments under another name, chosen by its id; None where there is nothing."""
    tree = LexborHTMLParser(html)
    headings = [node for node in tree.css(_HEADINGS) if len(node.text().split()) <= _MAX_WORDS]
    says_so = any(_CALLED_IN_HEADINGS.search(node.text()) for node in headings)
    names = _NAMES + _VAGUE if says_so else _NAMES
    one, several, heading = names[zlib.crc32(page.encode()) % len(names)]
    changed = [
        _rename(node, name, one, several) for name in _NAMED for node in tree.css(f"[{name}*=comment i]")
    ]
    if not any(changed):
        return None
    for node in tree.css(_MICRODATA):
        for name in ("itemprop", "itemtype"):
            if name in node.attrs:
                del node.attrs[name]
    for node in headings:
        _rename_heading(node, heading)
    return tree.html


def _rename(node: LexborNode, attribute: str, one: str, several: str) -> bool:
    """Rename in an attribute; return True if it had the known name."""
    value = node.attrs.get(attribute) or ""
    found = _CALLED.sub(lambda match: several if match[1] else one, value)
    node.attrs[attribute] = found
    return found != value


def _rename_heading(heading: LexborNode, name: str) -> None:
    """Put another name into the texts of a heading."""
    for node in list(heading.traverse(include_text=True)):
        if node.is_text_node:
            node.replace_with(_CALLED_IN_HEADINGS.sub(name, node.text_content or ""))


def shortened(page: str, html: str, texts: Sequence[str], content: Bools, comment: Bools) -> str | None:
    """Return the HTML with one or two paragraphs of its content; None without enough comments and paragraphs.

    `page` is its id, by which it is chosen how many are left.
    """
    if comment.sum() < _MIN_COMMENTS:
        return None
    tree = LexborHTMLParser(html)
    known = {_key(text) for text, is_content in zip(texts, content, strict=True) if is_content}
    left = 1 + zlib.crc32(page.encode()) % 2
    others = _outermost(node for node in tree.css(_PARAGRAPHS) if _key(node.text()) in known)[left:]
    if len(others) < _MIN_PARAGRAPHS:
        return None
    for node in others:
        node.decompose()
    return tree.html


def with_few_comments(page: str, html: str, texts: Sequence[str], comment: Bools) -> str:
    """Return the HTML with the first two to eight of its comments, chosen by the page's id."""
    tree = LexborHTMLParser(html)
    known = {_key(text) for text, is_comment in zip(texts, comment, strict=True) if is_comment}
    parts = _outermost(node for node in tree.css("*") if _key(node.text()) in known)
    chains = [[*reversed(list(_ancestors(node))), node] for node in parts]
    left = _MIN_LEFT + zlib.crc32(page.encode()) % _MORE
    for node in _items(chains)[left:]:
        node.decompose()
    return tree.html or html


def labels_by_text(texts: Sequence[str], labels: Bools, others: Sequence[str]) -> Bools:
    """Return the labels of the blocks of another page, by their texts; False for texts that are not here."""
    labeled = {_key(text) for text, label in zip(texts, labels, strict=True) if label}
    return np.array([_key(text) in labeled for text in others], np.bool_)


def _outermost(nodes: Iterable[LexborNode]) -> list[LexborNode]:
    """Return the nodes, in the order of the page, that are in none of the others."""
    found: dict[int, LexborNode] = {}
    for node in nodes:
        if not any(above.mem_id in found for above in _ancestors(node)):
            found[node.mem_id] = node
    return list(found.values())


def _items(chains: Sequence[Sequence[LexborNode]]) -> list[LexborNode]:
    """Return the items of the innermost element around the ends of all chains; chains begin with the root."""
    for nodes in zip(*chains, strict=False):
        different = {node.mem_id: node for node in nodes}
        if len(different) > 1:
            return list(different.values())
    return []


def _ancestors(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the elements around a node, the innermost first."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def _key(text: str) -> str:
    return "".join(text.split())


@dataclass(frozen=True, slots=True)
class Script:
    """Letters of a script, and the lengths of its words."""

    letters: str
    length: Callable[[int], int]
    """Number of letters of a word, by that of the Latin one."""
    spaces: bool = True
    punctuation: Mapping[str, str | int | None] = field(default_factory=dict)


def _letters(*ranges: tuple[int, int]) -> str:
    return "".join(chr(code) for first, last in ranges for code in range(first, last + 1))


SCRIPTS: dict[str, Script] = {
    "Cyrillic": Script(_letters((0x430, 0x44F)), lambda latin: latin + 1),
    "Arabic": Script(_letters((0x627, 0x63A), (0x641, 0x648)), lambda latin: max(2, latin - 1)),
    "Devanagari": Script(_letters((0x915, 0x939)), lambda latin: max(1, latin * 2 // 3)),
    "Thai": Script(_letters((0xE01, 0xE2E)), lambda latin: latin, spaces=False),
    "Han": Script(
        _letters((0x4E00, 0x5E00)),
        lambda latin: 1 if latin < 6 else 2,
        spaces=False,
        punctuation={".": "。", ",": "，", "?": "？", "!": "！", ":": "："},
    ),
}


def transliterated(html: str, script: Script) -> str:
    """Return the page with the words of its texts in another script."""
    return _MARKUP.sub(lambda match: match[1] or _text(match[3], script), html)


def _text(text: str, script: Script) -> str:
    text = _WORD.sub(lambda word: _word(word[0], script), text)
    if not script.spaces:
        text = _BETWEEN_WORDS.sub("", text)
    return text.translate(str.maketrans(dict(script.punctuation)))


def _word(word: str, script: Script) -> str:
    """Return the word that stands for a Latin one, the same in lower and upper case."""
    number = zlib.crc32(word.lower().encode())
    letters = []
    for _ in range(script.length(len(word))):
        number, letter = divmod(number * 31 + 7, len(script.letters))
        letters.append(script.letters[letter])
        number &= 0xFFFFFFFF
    return "".join(letters)
