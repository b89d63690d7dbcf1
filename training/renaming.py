"""User comments under another name, made of pages that call them `comment`.

Nearly every page to train on calls them so in its classes and ids, and in English in the heading above them.
A model that has met no other name takes comments of another name for posts of a forum, or paragraphs.
"""

import re
import zlib

from selectolax.lexbor import LexborHTMLParser, LexborNode

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
"""What one comment is called, several of them, and what the heading above them says."""
_VAGUE = (
    ("entry", "entries", "Comments"),
    ("item", "items", "Comments"),
    ("message", "messages", "Comments"),
    ("reply", "replies", "Replies"),
    ("response", "responses", "Responses"),
    ("talk", "talks", "Comments"),
)
"""The same where the heading alone tells comments from posts."""
_NAMED = ("class", "id")
_CALLED = re.compile("comment(s?)", re.IGNORECASE)
_MICRODATA = "[itemprop*=comment i], [itemtype*=comment i]"
_HEADINGS = "h1, h2, h3, h4, h5, h6"
_MOST_WORDS = 6
"""Words of a heading above comments."""
_SAID = re.compile(r"\b(comments?|responses?|replies|reactions?)\b", re.IGNORECASE)


def renamed(page: str, html: str) -> str | None:
    """The HTML with its comments under another name, chosen by its id; None where nothing is renamed."""
    tree = LexborHTMLParser(html)
    headings = [node for node in tree.css(_HEADINGS) if len(node.text().split()) <= _MOST_WORDS]
    says_so = any(_SAID.search(node.text()) for node in headings)
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
        _say(node, heading)
    return tree.html


def _rename(node: LexborNode, attribute: str, one: str, several: str) -> bool:
    """Whether an attribute of an element had the known name."""
    value = node.attrs.get(attribute) or ""
    found = _CALLED.sub(lambda match: several if match[1] else one, value)
    node.attrs[attribute] = found
    return found != value


def _say(heading: LexborNode, name: str) -> None:
    """Put another name into the texts of a heading."""
    for node in list(heading.traverse(include_text=True)):
        if node.is_text_node:
            node.replace_with(_SAID.sub(name, node.text_content or ""))
