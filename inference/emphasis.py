"""Where Markdown takes `*` for emphasis: section 6.2 of CommonMark 0.31, and as renderers of 0.30 have it."""

from unicodedata import category


def can_open(before: str, first: str) -> bool:
    """Whether emphasis can begin between two characters, of which the first may be none."""
    return bool(first) and not first.isspace() and (_is_plain(first) or _parts(before))


def can_close(last: str, after: str) -> bool:
    """Whether emphasis can end between two characters, of which the last may be none."""
    return bool(last) and not last.isspace() and (_is_plain(last) or _parts(after))


def _is_plain(character: str) -> bool:
    """Whether a character is neither punctuation nor a symbol, which are told apart by age."""
    return character.isalnum() or category(character)[0] not in "PS"


def _parts(character: str) -> bool:
    """Whether it is certain that a character is none, white space or punctuation."""
    if not character or character.isspace():
        return True
    return category(character)[0] == "P" or (character.isascii() and not character.isalnum())
