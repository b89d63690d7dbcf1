"""A line of text as inline Markdown: CommonMark, with formulas as Pandoc has them."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from unicodedata import category

from dehusk.inference.document.blocks import Image, Line, Span
from dehusk.schemas.markup import Mark

_PUNCTUATION = r"!-/:-@\[-`{-~"
_ESCAPED = re.compile(
    rf"""
    \\(?=[{_PUNCTUATION}]|\Z)
    | [`~]
    | (?<!\ )\* | \*(?!\ )
    | (?<![^\W_])_ | _(?![^\W_])
    | \[(?=\^|[\ xX]\]) | \](?=[(\[:])
    | <(?=[A-Za-z/!?])
    | &(?=\#?\w+;)
    """,
    re.VERBOSE,
)
_AT_START = re.compile(
    r"""
    \#(?=\#{0,5}(?:\ |\Z))
    | >
    | [+*-](?=\ |\Z) | [-:|](?=[-:|\ ]*\Z) | =(?==*\Z)
    """,
    re.VERBOSE,
)
_NUMBER_AT_START = re.compile(r"[0-9]{1,9}([.)])(?= |\Z)")
_END_OF_FORMULA = re.compile(r"(?<!\s)\$(?![0-9])")
_BRACKET = re.compile(r"[\[\]]")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_BACKTICKS = re.compile("`+")
_MAYBE_ESCAPED = re.compile(r"[\\`~*_\[\]<&$|!]")
_EXPONENT = re.compile(r"[+\-\u2212]?[0-9]+")
_EMPHASIS = {Mark.STRONG: "**", Mark.EMPHASIS: "*"}
_FIRSTS = {Mark.LINK: "[", Mark.CODE: "`", Mark.FORMULA: "$", Mark.DISPLAYED_FORMULA: "$"}


def write_line(line: Line, *, begins: bool = True, in_cell: bool = False) -> str:
    """Return a line as Markdown; `begins` if it begins a line of the document."""
    if not line.spans and not line.images and not _MAYBE_ESCAPED.search(line.text):
        return _escape_start(line.text) if begins else line.text
    return _LineWriter(line, begins=begins, in_cell=in_cell).write()


def _escape_start(text: str) -> str:
    position = _special_start(text)
    return text if position < 0 else f"{text[:position]}\\{text[position:]}"


def _special_start(text: str) -> int:
    """Return the index of the character that would make a line something else than text, or -1."""
    if _AT_START.match(text):
        return 0
    number = _NUMBER_AT_START.match(text)
    return number.start(1) if number else -1


def write_image(image: Image) -> str:
    """Return an image as Markdown."""
    text = _LineWriter(Line(image.text), begins=False, in_cell=True, in_link=True).write()
    return f"![{text}]({_escape_address(image.address)})"


def _escape_address(address: str) -> str:
    return _ENTITY.sub("&amp;", address).replace("$", "%24")


def longest_backticks(text: str) -> int:
    """Return the length of the longest run of backticks."""
    return max(map(len, _BACKTICKS.findall(text)), default=0)


class _LineWriter:
    """Writer of a line, from its first character to its last."""

    def __init__(self, line: Line, *, begins: bool, in_cell: bool, in_link: bool = False) -> None:
        self._text, self._spans, self._in_cell = line.text, line.spans, in_cell
        self._images = list(reversed(line.images))
        self._out: list[str] = []
        self._closed = False
        """True if emphasis has just ended."""
        self._edges: set[int] = set()
        self._link_starts: set[int] = set()
        self._brackets: list[tuple[int, int]] = [(0, len(line.text))] if in_link else []
        self._has_formula = in_link  # the text of an image may stand beside one
        self._find_edges(line.spans)
        self._edges |= {image.character for image in line.images}
        self._escaped = self._escaped_positions(begins=begins)

    def write(self) -> str:
        """Return the whole line."""
        self._write_spans(self._spans, 0, len(self._text), "")
        self._flush_images(len(self._text))
        return "".join(self._out)

    def _find_edges(self, spans: Sequence[Span]) -> None:
        for span in spans:
            self._edges |= {span.start, span.end}
            if span.kind == Mark.LINK:
                self._link_starts.add(span.start)
                self._brackets.append((span.start, span.end))
            is_formula = span.kind in (Mark.FORMULA, Mark.DISPLAYED_FORMULA)
            is_code = span.kind == Mark.CODE and "$" in self._text[span.start : span.end]
            self._has_formula = self._has_formula or is_formula or is_code
            self._find_edges(span.children)

    def _escaped_positions(self, *, begins: bool) -> list[int]:
        """Return the indices of the characters that need a backslash, in order."""
        escaped = self._mark_positions() if _MAYBE_ESCAPED.search(self._text) else set()
        if begins and (position := _special_start(self._text)) >= 0:
            escaped.add(position)
        return sorted(escaped)

    def _mark_positions(self) -> set[int]:
        """Return the indices of characters that look like marks, or stand at the edge of real ones."""
        text, edges = self._text, self._edges
        escaped = {match.start() for match in _ESCAPED.finditer(text)}
        if "$" in text:
            escaped |= self._dollar_positions()
        if edges:
            marks = _positions(text, "_") | _positions(text, "*")
            escaped |= {each for each in marks if each in edges or each + 1 in edges}
            escaped |= {each for each in _positions(text, "\\") if each + 1 in edges}
            escaped |= {each for each in _positions(text, "!") if each + 1 in self._link_starts}
        for start, end in self._brackets:
            escaped |= {match.start() for match in _BRACKET.finditer(text, start, end)}
        return escaped | _positions(text, "|") if self._in_cell else escaped

    def _dollar_positions(self) -> set[int]:
        """Return the dollars that could end a formula; beside formulas, and code that could end one, all."""
        dollars = _positions(self._text, "$")
        if self._has_formula:
            return dollars
        ends = {match.start() for match in _END_OF_FORMULA.finditer(self._text)}
        return ends | {each for each in dollars if each in self._edges or each + 1 in self._edges}

    def _write_spans(self, spans: Sequence[Span], start: int, end: int, after: str) -> None:
        """Write a part of the line; `after` is the character that follows, or empty."""
        position = start
        for index, span in enumerate(spans):
            self._write_plain(position, span.start)
            following = spans[index + 1] if index + 1 < len(spans) else None
            self._flush_images(span.start)
            self._write_span(
                span, after if span.end == end and after else self._next_character(span.end, following)
            )
            position = span.end
        self._write_plain(position, end)

    def _write_span(self, span: Span, after: str) -> None:
        match span.kind:
            case Mark.STRONG | Mark.EMPHASIS:
                self._write_emphasis(span, after)
            case Mark.LINK:
                self._write_link(span)
            case Mark.CODE:
                self._write_code(span)
            case Mark.FORMULA | Mark.DISPLAYED_FORMULA:
                self._write_formula(span, after)
            case _:
                self._put("^" if self._is_exponent(span) else "")
                self._write_spans(span.children, span.start, span.end, after)

    def _is_exponent(self, span: Span) -> bool:
        """Return True for a raised number after a letter or a bracket, unless it is a link, as notes are."""
        if span.kind != Mark.RAISED or not span.start or span.start in self._link_starts:
            return False
        before = self._text[span.start - 1]
        return (before.isalnum() or before in ")]") and bool(
            _EXPONENT.fullmatch(self._text, span.start, span.end)
        )

    def _write_emphasis(self, span: Span, after: str) -> None:
        """Emphasise a part if the characters beside its marks let it (CommonMark 0.30 and 0.31, §6.2)."""
        first, last = self._first_character(span), self._last_character(span)
        mark = _EMPHASIS[Mark(span.kind)]
        is_marked = (
            not self._closed and _can_open(self._previous_character(), first) and _can_close(last, after)
        )
        if is_marked:
            self._out.append(mark)
        self._write_spans(span.children, span.start, span.end, after)
        if is_marked:
            self._out.append(mark)
            self._closed = True

    def _write_link(self, span: Span) -> None:
        self._put("[")
        self._write_spans(span.children, span.start, span.end, "]")
        self._put(f"]({_escape_address(span.address)})")

    def _write_code(self, span: Span) -> None:
        text = self._text[span.start : span.end]
        if self._previous_character() == "`":
            self._write_plain(span.start, span.end)
            return
        fence = "`" * (1 + longest_backticks(text))
        space = " " if text[0] == "`" or text[-1] == "`" else ""
        self._put(self._escape_bars(f"{fence}{space}{text}{space}{fence}"))

    def _write_formula(self, span: Span, after: str) -> None:
        text = self._text[span.start : span.end]
        slashes = len(text) - len(text.rstrip("\\"))
        before = self._previous_character()
        if "$" in text or slashes % 2 or before == "$" or before.isdigit() or after.isdigit() or after == "$":
            self._write_plain(span.start, span.end)
        else:
            self._put(self._escape_bars(f"${text}$"))

    def _escape_bars(self, literal: str) -> str:
        """Escape vertical bars in text that is written unchanged, as they would end a cell."""
        return literal.replace("|", "\\|") if self._in_cell else literal

    def _write_plain(self, start: int, end: int) -> None:
        """Write a part of the text without marks, and the images in it."""
        while self._images and self._images[-1].character < end:
            position = max(start, self._images[-1].character)
            self._write_characters(start, position)
            self._flush_images(position)
            start = position
        self._write_characters(start, end)

    def _write_characters(self, start: int, end: int) -> None:
        if start >= end:
            return
        pieces: list[str] = []
        for index in range(bisect_left(self._escaped, start), bisect_left(self._escaped, end)):
            position = self._escaped[index]
            pieces += [self._text[start:position], "\\"]
            start = position
        self._put("".join(pieces) + self._text[start:end])

    def _flush_images(self, position: int) -> None:
        """Write the images that stand before a character."""
        while self._images and self._images[-1].character <= position:
            parting = " " if position and self._text[position : position + 1] in ("", " ") else ""
            self._put(parting + write_image(self._images.pop()))

    def _put(self, text: str) -> None:
        if text:
            self._out.append(text)
            self._closed = False

    def _previous_character(self) -> str:
        """Return the last character written, apart from marks of emphasis that have begun."""
        for text in reversed(self._out):
            if text not in ("*", "**"):
                return text[-1]
        return ""

    def _next_character(self, position: int, following: Span | None) -> str:
        """Return the character that will be written after a position, apart from marks of emphasis."""
        if self._images and any(image.character == position for image in self._images):
            return "!"
        if following is not None and following.start == position:
            return self._first_character(following)
        return self._text[position : position + 1]

    def _first_character(self, span: Span) -> str:
        """Return the first character that will be written of a span, apart from marks of emphasis."""
        if span.kind in _FIRSTS:
            return _FIRSTS[Mark(span.kind)]
        if self._is_exponent(span):
            return "^"
        if span.children and span.children[0].start == span.start:
            return self._first_character(span.children[0])
        return self._text[span.start]

    def _last_character(self, span: Span) -> str:
        """Return the last character that will be written of a span, apart from marks of emphasis."""
        if span.kind in _FIRSTS:
            return ")" if span.kind == Mark.LINK else _FIRSTS[Mark(span.kind)]
        if span.children and span.children[-1].end == span.end:
            return self._last_character(span.children[-1])
        return self._text[span.end - 1]


def _positions(text: str, character: str) -> set[int]:
    return {match.start() for match in re.finditer(re.escape(character), text)}


def _can_open(before: str, first: str) -> bool:
    """Return True if emphasis can begin between two characters; `first` may be empty."""
    return bool(first) and not first.isspace() and (_is_plain(first) or _is_boundary(before))


def _can_close(last: str, after: str) -> bool:
    """Return True if emphasis can end between two characters; `last` may be empty."""
    return bool(last) and not last.isspace() and (_is_plain(last) or _is_boundary(after))


def _is_plain(character: str) -> bool:
    """Return True for neither punctuation nor symbols, whose rules differ between versions of CommonMark."""
    return character.isalnum() or category(character)[0] not in "PS"


def _is_boundary(character: str) -> bool:
    """Return True if a character is certainly none, white space or punctuation."""
    if not character or character.isspace():
        return True
    return category(character)[0] == "P" or (character.isascii() and not character.isalnum())
