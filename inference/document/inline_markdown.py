"""A line of text as inline Markdown: CommonMark, with `~~` as GitHub and formulas as Pandoc have them."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from unicodedata import category

from dehusk.inference.document.blocks import (
    FORMULAS,
    LINKS,
    PLAYERS,
    Image,
    Line,
    Span,
    begin_at,
    hangs,
    start_of,
)
from dehusk.schemas.markup import Embedded, Mark

_PUNCTUATION = r"!-/:-@\[-`{-~"
_ESCAPED = re.compile(
    rf"""
    \\(?=[{_PUNCTUATION}]|\Z)
    | [`~]
    | (?<!\ )\* | \*(?!\ )
    | (?<![^\W_])_ | _(?![^\W_])
    | \[(?=\^|[\ xX]\]) | \](?=[(\[:])
    | <(?=[A-Za-z/!?]|[\w.#$%&'*+=^`{{|}}~-]+@)
    | &(?=\#?\w+;)
    """,
    re.VERBOSE,
)
_AT_START = re.compile(
    r"""
    \#(?=\#{0,5}(?:\ |\Z))
    | >
    | [+*:-](?=\ |\Z) | [-:|](?=[-:|\ ]*\Z) | =(?==*\Z)
    """,
    re.VERBOSE,
)
_NUMBER_AT_START = re.compile(r"[0-9]{1,9}([.)])(?= |\Z)")
_END_OF_FORMULA = re.compile(r"(?<!\s)\$(?![0-9])")
_BRACKET = re.compile(r"[\[\]]")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_BACKTICKS = re.compile("`+")
_MAYBE_ESCAPED = re.compile(r"[\\`~*_\[\]<&$|!]")
_EMPHASIS = {Mark.STRONG: "**", Mark.EMPHASIS: "*", Mark.STRUCK: "~~"}
_SHIFTED = {Mark.RAISED: "sup", Mark.LOWERED: "sub"}
_FIRSTS = {
    **dict.fromkeys(LINKS, "["),
    **dict.fromkeys(FORMULAS, "$"),
    **dict.fromkeys(_SHIFTED, "<"),
    Mark.CODE: "`",
    Mark.STRUCK: "~",
}
_LASTS = {**_FIRSTS, **dict.fromkeys(LINKS, ")"), **dict.fromkeys(_SHIFTED, ">")}


def write_line(line: Line, *, begins: bool = True, in_cell: bool = False, has_formula: bool = False) -> str:
    """Return a line as Markdown; `begins` if it begins a line of the document.

    `has_formula` where a line of the same paragraph has dollars of formulas or of code.
    """
    if not line.spans and not line.images and not _MAYBE_ESCAPED.search(line.text):
        return _escape_start(line.text) if begins else line.text
    return _LineWriter(line, begins=begins, in_cell=in_cell, has_formula=has_formula).write()


def may_end_formula(line: Line) -> bool:
    """Return True for a line with dollars that stay as they are: of a formula, or in code."""
    return any(image.is_formula for image in line.images) or _has_dollars(line.text, line.spans)


def _has_dollars(text: str, spans: Sequence[Span]) -> bool:
    return any(
        span.kind in FORMULAS
        or (span.kind == Mark.CODE and "$" in text[span.start : span.end])
        or _has_dollars(text, span.children)
        for span in spans
    )


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
    """Return an image or a displayed formula as Markdown, or a player as a link."""
    if image.is_formula:
        return _tex(image.text, "", "") or write_line(Line(image.text), begins=False)
    title = image.text or PLAYERS.get(Embedded(image.kind), "")
    text = _LineWriter(Line(title), begins=False, in_cell=True, in_link=True).write()
    mark = "!" if image.kind == Embedded.IMAGE else ""
    return f"{mark}[{text}]({_escape_address(image.address)})"


def _tex(tex: str, before: str, after: str) -> str:
    """Return a formula between dollars; empty if the TeX or the characters beside would not let it be one."""
    slashes = len(tex) - len(tex.rstrip("\\"))
    if "$" in tex or slashes % 2 or before == "$" or before.isdigit() or after.isdigit() or after == "$":
        return ""
    return f"${tex}$"


def _escape_address(address: str) -> str:
    return _ENTITY.sub("&amp;", address).replace("$", "%24")


def longest_backticks(text: str) -> int:
    """Return the length of the longest run of backticks."""
    return max(map(len, _BACKTICKS.findall(text)), default=0)


class _LineWriter:
    """Writer of a line, from its first character to its last."""

    def __init__(
        self, line: Line, *, begins: bool, in_cell: bool, in_link: bool = False, has_formula: bool = False
    ) -> None:
        self._text, self._spans, self._in_cell = line.text, line.spans, in_cell
        self._images = list(reversed(line.images))
        self._joined = False
        """True where the open emphasis began together with emphasis in it, by one row of stars."""
        self._out: list[str] = []
        self._closed = ""
        """Character of the mark of emphasis that has just ended."""
        self._is_after_code = False
        """True right behind the mark that ends code."""
        self._edges: set[int] = set()
        self._link_starts: set[int] = set()
        self._brackets: list[tuple[int, int]] = [(0, len(line.text))] if in_link else []
        self._has_formula = in_link or has_formula or may_end_formula(line)
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
            if span.kind in LINKS:
                self._link_starts.add(span.start)
                self._brackets.append((span.start, span.end))
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
            self._write_part(position, span.start, self._write_characters)
            following = spans[index + 1] if index + 1 < len(spans) else None
            self._flush_images(span.start)
            self._write_span(
                span, after if span.end == end and after else self._next_character(span.end, following)
            )
            position = span.end
        self._write_part(position, end, self._write_characters)

    def _write_span(self, span: Span, after: str) -> None:
        match span.kind:
            case Mark.STRONG | Mark.EMPHASIS | Mark.STRUCK:
                self._write_emphasis(span, after)
            case Mark.REFERENCE if span.meaning:
                self._put_reference(span.meaning)
            case Mark.LINK | Mark.REFERENCE | Mark.RETURN:
                self._write_link(span, after)
            case Mark.CODE:
                self._write_part(span.start, span.end, self._write_code_text)
            case Mark.FORMULA | Mark.DISPLAYED_FORMULA:
                self._write_formula(span, after)
            case _:
                self._write_shifted(span, after)

    def _write_shifted(self, span: Span, after: str) -> None:
        """Write raised or lowered text; the cents of a price, which follow a point, stay on the line."""
        name, start = _SHIFTED[Mark(span.kind)], start_of(self._text, span)
        is_marked = not self._is_on_line(span)
        if hangs(span):
            self._drop_space()
        if is_marked:
            begin_at(span.children, start)
        self._put(f"<{name}>" if is_marked else "")
        self._write_spans(
            span.children, start if is_marked else span.start, span.end, "<" if is_marked else after
        )
        self._put(f"</{name}>" if is_marked else "")

    def _put_reference(self, label: str) -> None:
        """Write a reference to a footnote, without white space before it."""
        self._drop_space()
        self._put(f"[^{label}]")

    def _drop_space(self) -> None:
        if self._out and (text := self._out.pop().removesuffix(" ")):
            self._out.append(text)

    def _write_emphasis(self, span: Span, after: str) -> None:
        """Emphasise a part if the characters beside its marks let it (CommonMark 0.30 and 0.31, §6.2)."""
        first, last = self._first_within(span), self._last_within(span)
        mark = _EMPHASIS[Mark(span.kind)]
        before = self._previous_character()
        is_marked = self._closed != mark[0] and _can_mark(first, before) and _can_mark(last, after)
        if self._joined and _may_close(before, first):
            is_marked = False  # it would end the one around it
        opening, closing = (mark, mark) if is_marked else ("", "")
        if span.kind == Mark.STRUCK and not is_marked:
            opening, closing = "<del>", "</del>"
        joined = self._joined or (is_marked and self._out[-1:] in (["*"], ["**"]))
        if opening:
            self._put(opening)
        self._joined = joined
        self._write_spans(span.children, span.start, span.end, after)
        self._joined = joined
        if closing:
            self._put(closing)
            self._closed = mark[0] if is_marked else ""

    def _write_link(self, span: Span, after: str) -> None:
        if not span.address:
            self._write_spans(span.children, span.start, span.end, after)
            return
        self._put("[")
        self._write_spans(span.children, span.start, span.end, "]")
        self._put(f"]({_escape_address(span.address)})")

    def _write_code_text(self, start: int, end: int) -> None:
        """Write a part of code, which ends before an image or a formula in it, and goes on behind."""
        text = self._text[start:end]
        if self._is_after_code or not text.strip():
            self._write_characters(start, end)
            return
        code = text.strip(" ")
        fence = "`" * (1 + longest_backticks(code))
        space = " " if code[0] == "`" or code[-1] == "`" else ""
        before, _, after = text.partition(code)
        self._put(before)
        self._put(self._escape_bars(f"{fence}{space}{code}{space}{fence}"))
        self._is_after_code = True
        self._put(after)

    def _write_formula(self, span: Span, after: str) -> None:
        written = _tex(span.meaning, self._previous_character(), after)
        if written:
            self._put(self._escape_bars(written))
        else:
            self._write_part(span.start, span.end, self._write_characters)

    def _escape_bars(self, literal: str) -> str:
        """Escape vertical bars in text that is written unchanged, as they would end a cell."""
        return literal.replace("|", "\\|") if self._in_cell else literal

    def _write_part(self, start: int, end: int, write: Callable[[int, int], None]) -> None:
        """Write a part of the text by a function, and the images in it."""
        while self._images and self._images[-1].character < end:
            position = max(start, self._images[-1].character)
            write(start, position)
            self._write_next_image(position)
            start = position
        write(start, end)

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
            self._write_next_image(position)

    def _write_next_image(self, position: int) -> None:
        image = self._images.pop()
        self._put(image.before)
        if image.is_formula:
            self._put_formula(image.text, self._text[position : position + 1])
        else:
            self._put(write_image(image))
        self._put(image.after)

    def _put_formula(self, tex: str, after: str) -> None:
        """Write a formula that is no part of the text, apart from digits and dollars."""
        before = self._previous_character()
        self._put(" " if before.isdigit() or before == "$" else "")
        self._put(self._escape_bars(_tex(tex, "", "") or write_line(Line(tex), begins=False, in_cell=True)))
        self._put(" " if after.isdigit() else "")

    def _put(self, text: str) -> None:
        if text:
            self._out.append(text)
            self._closed, self._is_after_code = "", False

    def _previous_character(self) -> str:
        """Return the last character written, apart from stars of emphasis."""
        for text in reversed(self._out):
            if text not in ("*", "**"):
                return text[-1]
        return ""

    def _next_character(self, position: int, following: Span | None) -> str:
        """Return the character that will be written after a position, apart from marks of emphasis."""
        images = self._images  # the last one comes first
        until = bisect_right(images, -position, key=lambda image: -image.character)
        if until and images[until - 1].character == position:
            here = images[until - 1]
            return "$" if here.is_formula else "!" if here.kind == Embedded.IMAGE else "["
        if following is not None and following.start == position:
            return self._first_character(following)
        return self._text[position : position + 1]

    def _first_character(self, span: Span) -> str:
        """Return the first character that will be written of a span, apart from marks of emphasis."""
        if span.kind in _FIRSTS and not self._is_on_line(span):
            return _FIRSTS[Mark(span.kind)]
        return self._first_within(span)

    def _first_within(self, span: Span) -> str:
        """Return the first character that will be written between the marks of a span."""
        if span.children and span.children[0].start == span.start:
            is_parted = span.kind == Mark.STRUCK and span.children[0].kind in _EMPHASIS
            return "*" if is_parted else self._first_character(span.children[0])
        return self._text[span.start]

    def _is_on_line(self, span: Span) -> bool:
        """Return True for raised text that is written without an element: cents, and references."""
        return span.kind == Mark.RAISED and (self._text[span.start] == "." or _is_reference(span))

    def _last_character(self, span: Span) -> str:
        """Return the last character that will be written of a span, apart from marks of emphasis."""
        if span.kind in _LASTS and not self._is_on_line(span):
            return "]" if span.meaning and span.kind == Mark.REFERENCE else _LASTS[Mark(span.kind)]
        return self._last_within(span)

    def _last_within(self, span: Span) -> str:
        """Return the last character that will be written between the marks of a span."""
        if span.children and span.children[-1].end == span.end:
            is_parted = span.kind == Mark.STRUCK and span.children[-1].kind in _EMPHASIS
            return "*" if is_parted else self._last_character(span.children[-1])
        return self._text[span.end - 1]


def _is_reference(span: Span) -> bool:
    """Return True if all of a raised text is a reference to a footnote."""
    return (
        len(span.children) == 1 and bool(span.children[0].meaning) and span.children[0].kind == Mark.REFERENCE
    )


def _positions(text: str, character: str) -> set[int]:
    return {match.start() for match in re.finditer(re.escape(character), text)}


def _can_mark(inside: str, outside: str) -> bool:
    """Return True if emphasis can begin or end between two characters; that within it may be empty."""
    return bool(inside) and not inside.isspace() and (_is_plain(inside) or _is_boundary(outside))


def _may_close(last: str, after: str) -> bool:
    """Return True if emphasis ends between two characters by any version of CommonMark."""
    is_boundary = not after or after.isspace() or not _is_plain(after)
    return bool(last) and not last.isspace() and (_is_plain(last) or is_boundary)


def _is_plain(character: str) -> bool:
    """Return True for neither punctuation nor symbols, whose rules differ between versions of CommonMark."""
    return character.isalnum() or category(character)[0] not in "PS"


def _is_boundary(character: str) -> bool:
    """Return True if a character is certainly none, white space or punctuation."""
    if not character or character.isspace():
        return True
    return category(character)[0] == "P" or (character.isascii() and not character.isalnum())
