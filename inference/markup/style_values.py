"""Components of CSS values, and the rules by which those with references in them are valid.

References are `var()`, `attr()`, `env()` and `if()`, as CSS Values and Units Level 5 and CSS Custom
Properties Level 2 have them; `dehusk.inference.markup.style_references` finds their values.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

WORD = "word"
FUNCTION = "function"
BRACKET = "bracket"
COMMA = "comma"
COLON = "colon"
SEMICOLON = "semicolon"
EXCLAMATION_MARK = "exclamation mark"
OTHER = "other"


class Component(NamedTuple):
    """A token of a value, or a function or bracket with what stands in it."""

    kind: str
    text: str
    """A word, a function's name, an opening bracket, or a token as it is written."""
    inner: "Value" = ()


Value = Sequence[Component]
Token = tuple[str, str]
Tokens = tuple[Token, ...]
"""A value without references: kinds and texts, brackets among them."""

_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})(?:\r\n|[ \t\n\r\f])?|(.)|\Z)", re.IGNORECASE | re.DOTALL)
_NUMBER = r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:e[+-]?\d++)?"
_TYPES = {
    "<custom-ident>": r"[a-z_-][\w-]*",
    "<string>": r"""(?:"[^"]*"|'[^']*')""",
    "<integer>": r"[+-]?\d+",
    "<number>": _NUMBER,
    "<percentage>": rf"{_NUMBER}%",
    "<length>": rf"(?:{_NUMBER}(?!deg|rad|turn|ms|s\b|dpi|dpcm|dppx|x\b)[a-z]+|[+-]?0)",
    "<length-percentage>": rf"(?:{_NUMBER}(?:[a-z]+|%)|[+-]?0)",
    "<angle>": rf"{_NUMBER}(?:deg|grad|rad|turn)",
    "<time>": rf"{_NUMBER}m?s",
    "<resolution>": rf"{_NUMBER}(?:dpi|dpcm|dppx|x)",
    "<color>": r"#[\da-f]{3,8}",
    "<image>": r"(?!)",
    "<url>": r"(?!)",
    "<transform-function>": r"(?!)",
    "<transform-list>": r"(?!)",
}
"""Patterns of the types of attributes; names of colors, images and other functions are of no type."""


def is_reference(value: Value) -> bool:
    """Return True for a value that is valid by the references in it, whatever they come to."""
    references = [each for each in _functions(value) if _refers(each)]
    braces = any(each.kind == BRACKET and each.text == "{" for each in value)
    return bool(references) and all(map(_is_valid, references)) and not (braces and len(value) > 1)


def is_custom_value(value: Value) -> bool:
    """Return True for a value that a custom property may have: the references in it are written rightly."""
    return all(map(_is_valid, filter(_refers, _functions(value))))


def unescaped(text: str) -> str:
    """Return a word without escapes."""
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(escape: re.Match[str]) -> str:
    if escape[2] is not None:
        return escape[2]
    number = int(escape[1] or "0", 16)
    is_character = 0 < number <= sys.maxunicode and not 0xD800 <= number < 0xE000
    return chr(number) if is_character else "\ufffd"


def _functions(value: Value) -> Iterator[Component]:
    waiting = list(value)
    while waiting:
        part = waiting.pop()
        if part.kind == FUNCTION:
            yield part
        waiting.extend(part.inner)


def _refers(function: Component) -> bool:
    name = function.text.lower()
    return name in ("var", "env", "attr", "if") or (name.startswith("--") and len(name) > 2)


def _is_valid(reference: Component) -> bool:
    """Return True if a reference has the arguments that it needs."""
    name, arguments = reference.text.lower(), reference.inner
    if name == "if":
        return _is_choice(arguments)
    return name.startswith("--") or _has_name(name, arguments)


def _has_name(function: str, arguments: Value) -> bool:
    """Return True if the arguments are a name, what belongs to it, and perhaps a comma and a value."""
    comma = next((number for number, each in enumerate(arguments) if each.kind == COMMA), len(arguments))
    first, *others = arguments[:comma] or (Component(OTHER, ""),)
    if first.kind != WORD or any(each.kind in (SEMICOLON, EXCLAMATION_MARK) for each in arguments):
        return False
    match function:
        case "var":
            return not others and first.text.startswith("--") and len(first.text) > 2
        case "env":
            return all(each.kind == OTHER and each.text.isdecimal() for each in others)
    return not others or (len(others) == 1 and _is_type(others[0]))


def _is_type(part: Component) -> bool:
    if part.kind != FUNCTION:
        return part.kind == WORD or part.text == "%"
    return part.text.lower() == "type" and bool(part.inner) and _choices(part.inner) is not None


def _is_choice(arguments: Value) -> bool:
    """Return True for conditions, each with a colon and a value behind it."""
    clauses = split(arguments, SEMICOLON)
    if clauses and not clauses[-1]:
        clauses = clauses[:-1]
    return bool(clauses) and all(map(_is_clause, clauses))


def _is_clause(clause: Value) -> bool:
    colon = next((number for number, each in enumerate(clause) if each.kind == COLON), 0)
    condition, value = clause[:colon], clause[colon + 1 :]
    return _is_condition(condition) and all(each.kind != EXCLAMATION_MARK for each in value)


def _is_condition(condition: Value) -> bool:
    """Return True for `else`, `not TERM`, or terms with one of `and` and `or` between them."""
    words = [each.text.lower() for each in condition if each.kind == WORD]
    if any(each.kind not in (WORD, FUNCTION, BRACKET) for each in condition):
        return False
    if len(condition) == 1:
        return words in ([], ["else"])
    if words == ["not"]:
        return len(condition) == 2 and condition[0].kind == WORD
    is_row = all((each.kind == WORD) == bool(number % 2) for number, each in enumerate(condition))
    return len(condition) % 2 == 1 and is_row and set(words) in ({"and"}, {"or"})


def split(value: Value, kind: str) -> list[Value]:
    """Return the parts of a value between tokens of a kind."""
    parts: list[list[Component]] = [[]]
    for each in value:
        if each.kind == kind:
            parts.append([])
        else:
            parts[-1].append(each)
    return list(parts)


def _choices(syntax: Value) -> list[tuple[str, str]] | None:
    """Return the types and words that a syntax allows, each with its multiplier; None for no syntax."""
    text = "".join(each.text if each.kind != WORD else f" {each.text} " for each in syntax)
    text = re.sub(r"(?<!\s)\s++(?=[>+#])|(?<=<)\s+", "", text).strip()
    if text == "*":
        return [("*", "")]
    found = []
    for part in text.split("|"):
        matched = re.fullmatch(r"\s*(<[a-z-]+>|[\w-]+)([+#]?)\s*", part)
        if not matched or (matched[1].startswith("<") and matched[1] not in _TYPES):
            return None
        found.append((matched[1], matched[2]))
    return found


def typed(tokens: Tokens, syntax: Value) -> Tokens | None:
    """Return the tokens of an attribute if they are of a type, else None."""
    for name, multiplier in _choices(syntax) or ():
        if name == "*":
            return tokens
        texts = [text for kind, text in tokens if multiplier != "#" or kind != COMMA]
        pattern = _TYPES.get(name, re.escape(name))
        is_one = len(texts) == 1 or (multiplier and texts)
        if is_one and all(re.fullmatch(pattern, text, re.IGNORECASE) for text in texts):
            return tokens
    return None
