"""Pages in other scripts, made of English ones: to see what a labeler does where it knows no word.

Every word becomes a word of the other script, always the same one, of about the length that words have there.
Markup, digits and punctuation stay; scripts without spaces lose them. The structure of the page stays what it
was, and so do its labels.
"""

import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_MARKUP = re.compile(
    r"(<(script|style|noscript|textarea)\b.*?</\2\s*>|<!--.*?-->|<[^>]*>|&#?\w+;)|([^<&]+)",
    re.DOTALL | re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_BETWEEN_WORDS = re.compile(r"(?<=\S) (?=\S)")


@dataclass(frozen=True, slots=True)
class Script:
    """Letters, and how words are made of them."""

    letters: str
    length: Callable[[int], int]
    """How many letters a word has for one of so many Latin ones."""
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
    """The page with the words of its texts in another script."""
    return _MARKUP.sub(lambda match: match[1] or _text(match[3], script), html)


def _text(text: str, script: Script) -> str:
    text = _WORD.sub(lambda word: _word(word[0], script), text)
    if not script.spaces:
        text = _BETWEEN_WORDS.sub("", text)
    return text.translate(str.maketrans(dict(script.punctuation)))


def _word(word: str, script: Script) -> str:
    """The word that stands for a Latin one, the same in lower and upper case."""
    number = zlib.crc32(word.lower().encode())
    letters = []
    for _ in range(script.length(len(word))):
        number, letter = divmod(number * 31 + 7, len(script.letters))
        letters.append(script.letters[letter])
        number &= 0xFFFFFFFF
    return "".join(letters)
