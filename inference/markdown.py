"""The content of a page as Markdown: CommonMark, with tables as GitHub and formulas as Pandoc has them."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from dehusk.inference.emphasis import can_close, can_open
from dehusk.inference.lines import Line, Picture, Span, join
from dehusk.inference.outline import Block, Cell, Code, Group, Heading, Paragraph, Table
from dehusk.schemas.markup import Container, Mark
from dehusk.schemas.pages import BULLET

_MAX_DEPTH = 8
"""Lists and quotations within each other; deeper ones are written as what stands in them."""
_MOST_NUMBER = 999_999_999
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
_TRANSPARENT = frozenset({Mark.RAISED, Mark.LOWERED})
_FIRSTS = {Mark.LINK: "[", Mark.CODE: "`", Mark.FORMULA: "$", Mark.DISPLAYED_FORMULA: "$"}


def markdown(root: Group) -> str:
    """The Markdown of an outline, without a line break at its end."""
    return "\n".join(_blocks(root.children, 0))


def _blocks(blocks: Iterable[Block], depth: int) -> list[str]:
    """The lines of blocks, parted by empty ones; lists beside each other are marked differently."""
    lines: list[str] = []
    last: Block | None = None
    is_other = False
    for block in blocks:
        is_other = _is_list(block) and last is not None and _is_list(last) and not is_other
        written = _block(block, depth, is_other=is_other)
        if written:
            if lines:
                lines.append("")
            lines += written
            last = block
    return lines


def _block(block: Block, depth: int, *, is_other: bool) -> list[str]:
    match block:
        case Paragraph():
            return _paragraph(block.lines)
        case Heading():
            return ["#" * block.level + " " + _with_end_escaped(_inline(block.line, begins=False))]
        case Code():
            fence = "`" * max(3, 1 + _longest(block.text))
            return [fence + block.language, *block.text.split("\n"), fence]
        case Picture():
            return [_picture(block)]
        case Table():
            return _table(block)
        case Group():
            return _group(block, depth, is_other=is_other)


def _paragraph(lines: Sequence[Line]) -> list[str]:
    if len(lines) == 1 and _is_displayed(lines[0]):
        return ["$$", lines[0].text, "$$"]
    written = [_inline(line) for line in lines]
    return [*(line + "\\" for line in written[:-1]), written[-1]]


def _is_displayed(line: Line) -> bool:
    """Whether a line is a formula and no more."""
    if len(line.spans) != 1 or line.pictures or "$" in line.text:
        return False
    span = line.spans[0]
    return span.kind == Mark.DISPLAYED_FORMULA and (span.start, span.end) == (0, len(line.text))


def _with_end_escaped(heading: str) -> str:
    """A heading whose last signs are not taken for the end of its mark."""
    text = heading.rstrip("#")
    return text + (len(heading) - len(text)) * "\\#"


def _longest(text: str) -> int:
    """The length of the longest run of backticks."""
    return max(map(len, _BACKTICKS.findall(text)), default=0)


def _is_list(block: Block) -> bool:
    return isinstance(block, Group) and block.kind in (Container.LIST, Container.NUMBERED_LIST)


def _group(group: Group, depth: int, *, is_other: bool) -> list[str]:
    if depth < _MAX_DEPTH and group.kind == Container.QUOTE:
        return [f"> {line}" if line else ">" for line in _blocks(group.children, depth + 1)]
    if depth < _MAX_DEPTH and _is_list(group):
        return _list(group, depth + 1, is_other=is_other)
    return _blocks(group.children, depth)


def _list(group: Group, depth: int, *, is_other: bool) -> list[str]:
    is_tight = all(isinstance(item, Group) and _is_tight(item) for item in group.children)
    lines: list[str] = []
    for item in group.children:
        if not isinstance(item, Group):
            continue
        written = _tight(item, depth) if is_tight else _blocks(item.children, depth)
        if not written:
            continue
        if lines and not is_tight:
            lines.append("")
        mark = _mark(group, item, is_other=is_other)
        margin = " " * len(mark)
        lines.append(mark + written[0])
        lines += [margin + line if line else "" for line in written[1:]]
    return lines


def _mark(group: Group, item: Group, *, is_other: bool) -> str:
    if group.kind == Container.LIST:
        return "* " if is_other else "- "
    number = 1 if item.number == BULLET else min(max(item.number, 0), _MOST_NUMBER)
    return f"{number}{')' if is_other else '.'} "


def _is_tight(item: Group) -> bool:
    """Whether an item is a line or a few, and lists behind them that need no empty line before them."""
    if not item.children:
        return True
    first, *others = item.children
    return isinstance(first, Paragraph | Heading) and len(others) < 2 and all(map(_follows_text, others))


def _follows_text(block: Block) -> bool:
    if not isinstance(block, Group) or not _is_list(block) or not block.children:
        return False
    first = block.children[0]
    return block.kind == Container.LIST or (isinstance(first, Group) and first.number == 1)


def _tight(item: Group, depth: int) -> list[str]:
    return [line for block in item.children for line in _blocks([block], depth)]


def _table(table: Table) -> list[str]:
    width = len(table.rows[0])
    rows = table.rows if table.has_header else [[Cell() for _ in range(width)], *table.rows]
    lines = [_row(row) for row in rows]
    return [lines[0], "|" + " --- |" * width, *lines[1:]]


def _row(cells: Sequence[Cell]) -> str:
    texts = (_inline(join(cell.lines), begins=False, in_cell=True) if cell.lines else "" for cell in cells)
    return "| " + " | ".join(texts) + " |"


def _inline(line: Line, *, begins: bool = True, in_cell: bool = False) -> str:
    """A line of Markdown; whether it begins one, and stands in a cell of a table."""
    if not line.spans and not line.pictures and not _MAYBE_ESCAPED.search(line.text):
        return _begun(line.text) if begins else line.text
    return _Inline(line, begins=begins, in_cell=in_cell).written()


def _begun(text: str) -> str:
    position = _start(text)
    return text if position < 0 else f"{text[:position]}\\{text[position:]}"


def _start(text: str) -> int:
    """The character that makes a line another thing than text, or -1."""
    if _AT_START.match(text):
        return 0
    number = _NUMBER_AT_START.match(text)
    return number.start(1) if number else -1


def _picture(picture: Picture) -> str:
    text = _Inline(Line(picture.text), begins=False, in_cell=True, in_link=True).written()
    return f"![{text}]({_address(picture.address)})"


def _address(address: str) -> str:
    return _ENTITY.sub("&amp;", address).replace("$", "%24")


class _Inline:
    """A line as it is written, from its first character to its last."""

    def __init__(self, line: Line, *, begins: bool, in_cell: bool, in_link: bool = False) -> None:
        self._text, self._spans, self._in_cell = line.text, line.spans, in_cell
        self._pictures = list(reversed(line.pictures))
        self._out: list[str] = []
        self._closed = False
        """Whether emphasis has just ended."""
        self._edges: set[int] = set()
        self._link_starts: set[int] = set()
        self._brackets: list[tuple[int, int]] = [(0, len(line.text))] if in_link else []
        self._has_formula = in_link  # the text of an image may stand beside one
        self._find_edges(line.spans)
        self._edges |= {picture.character for picture in line.pictures}
        self._escaped = self._escapes(begins=begins)

    def written(self) -> str:
        """The whole line."""
        self._write(self._spans, 0, len(self._text), "")
        self._flush(len(self._text))
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

    def _escapes(self, *, begins: bool) -> list[int]:
        """The characters before which a backslash stands."""
        escaped = self._marks() if _MAYBE_ESCAPED.search(self._text) else set()
        if begins and (position := _start(self._text)) >= 0:
            escaped.add(position)
        return sorted(escaped)

    def _marks(self) -> set[int]:
        """The characters that would be taken for marks; what stands at the edge of others is, too."""
        text, edges = self._text, self._edges
        escaped = {found.start() for found in _ESCAPED.finditer(text)}
        if "$" in text:
            escaped |= self._dollars()
        if edges:
            marks = _places(text, "_") | _places(text, "*")
            escaped |= {each for each in marks if each in edges or each + 1 in edges}
            escaped |= {each for each in _places(text, "\\") if each + 1 in edges}
            escaped |= {each for each in _places(text, "!") if each + 1 in self._link_starts}
        for start, end in self._brackets:
            escaped |= {found.start() for found in _BRACKET.finditer(text, start, end)}
        return escaped | _places(text, "|") if self._in_cell else escaped

    def _dollars(self) -> set[int]:
        """Those that could end a formula; beside formulas, and code that could end one, all."""
        dollars = _places(self._text, "$")
        if self._has_formula:
            return dollars
        ends = {found.start() for found in _END_OF_FORMULA.finditer(self._text)}
        return ends | {each for each in dollars if each in self._edges or each + 1 in self._edges}

    def _write(self, spans: Sequence[Span], start: int, end: int, after: str) -> None:
        """Write a part of the line, which a character follows."""
        position = start
        for index, span in enumerate(spans):
            self._plain(position, span.start)
            following = spans[index + 1] if index + 1 < len(spans) else None
            self._flush(span.start)
            self._span(span, after if span.end == end and after else self._next(span.end, following))
            position = span.end
        self._plain(position, end)

    def _span(self, span: Span, after: str) -> None:
        match span.kind:
            case Mark.STRONG | Mark.EMPHASIS:
                self._emphasis(span, after)
            case Mark.LINK:
                self._link(span)
            case Mark.CODE:
                self._code(span)
            case Mark.FORMULA | Mark.DISPLAYED_FORMULA:
                self._formula(span, after)
            case _:
                self._put("^" if self._is_exponent(span) else "")
                self._write(span.children, span.start, span.end, after)

    def _is_exponent(self, span: Span) -> bool:
        """Whether a part is a raised number behind a letter or a bracket, and no link, as notes are."""
        if span.kind != Mark.RAISED or not span.start or span.start in self._link_starts:
            return False
        before = self._text[span.start - 1]
        return (before.isalnum() or before in ")]") and bool(
            _EXPONENT.fullmatch(self._text, span.start, span.end)
        )

    def _emphasis(self, span: Span, after: str) -> None:
        """Emphasise a part where Markdown can: it goes by the characters on both sides of its marks."""
        first, last = self._first(span), self._last(span)
        mark = _EMPHASIS[Mark(span.kind)]
        is_marked = not self._closed and can_open(self._before(), first) and can_close(last, after)
        if is_marked:
            self._out.append(mark)
        self._write(span.children, span.start, span.end, after)
        if is_marked:
            self._out.append(mark)
            self._closed = True

    def _link(self, span: Span) -> None:
        self._put("[")
        self._write(span.children, span.start, span.end, "]")
        self._put(f"]({_address(span.address)})")

    def _code(self, span: Span) -> None:
        text = self._text[span.start : span.end]
        if self._before() == "`":
            self._plain(span.start, span.end)
            return
        fence = "`" * (1 + _longest(text))
        space = " " if text[0] == "`" or text[-1] == "`" else ""
        self._put(self._unparted(f"{fence}{space}{text}{space}{fence}"))

    def _formula(self, span: Span, after: str) -> None:
        text = self._text[span.start : span.end]
        slashes = len(text) - len(text.rstrip("\\"))
        before = self._before()
        if "$" in text or slashes % 2 or before == "$" or before.isdigit() or after.isdigit() or after == "$":
            self._plain(span.start, span.end)
        else:
            self._put(self._unparted(f"${text}$"))

    def _unparted(self, literal: str) -> str:
        """What is written as it stands, but for what would end a cell."""
        return literal.replace("|", "\\|") if self._in_cell else literal

    def _plain(self, start: int, end: int) -> None:
        """Write a part of the text that no mark is in, and the images in it."""
        while self._pictures and self._pictures[-1].character < end:
            position = max(start, self._pictures[-1].character)
            self._characters(start, position)
            self._flush(position)
            start = position
        self._characters(start, end)

    def _characters(self, start: int, end: int) -> None:
        if start >= end:
            return
        pieces: list[str] = []
        for index in range(bisect_left(self._escaped, start), bisect_left(self._escaped, end)):
            position = self._escaped[index]
            pieces += [self._text[start:position], "\\"]
            start = position
        self._put("".join(pieces) + self._text[start:end])

    def _flush(self, position: int) -> None:
        """Write the images that stand before a character."""
        while self._pictures and self._pictures[-1].character <= position:
            parting = " " if position and self._text[position : position + 1] in ("", " ") else ""
            self._put(parting + _picture(self._pictures.pop()))

    def _put(self, text: str) -> None:
        if text:
            self._out.append(text)
            self._closed = False

    def _before(self) -> str:
        """The last character, marks of emphasis that have begun left out."""
        for text in reversed(self._out):
            if text not in ("*", "**"):
                return text[-1]
        return ""

    def _next(self, position: int, following: Span | None) -> str:
        """The character that will be written behind a position, marks of emphasis left out."""
        if self._pictures and any(picture.character == position for picture in self._pictures):
            return "!"
        if following is not None and following.start == position:
            return self._first(following)
        return self._text[position : position + 1]

    def _first(self, span: Span) -> str:
        """The first character that will be written of a span, marks of emphasis left out."""
        if span.kind in _FIRSTS:
            return _FIRSTS[Mark(span.kind)]
        if self._is_exponent(span):
            return "^"
        if span.children and span.children[0].start == span.start:
            return self._first(span.children[0])
        return self._text[span.start]

    def _last(self, span: Span) -> str:
        """The last one likewise."""
        if span.kind in _FIRSTS:
            return ")" if span.kind == Mark.LINK else _FIRSTS[Mark(span.kind)]
        if span.children and span.children[-1].end == span.end:
            return self._last(span.children[-1])
        return self._text[span.end - 1]


def _places(text: str, character: str) -> set[int]:
    found, position = set(), text.find(character)
    while position >= 0:
        found.add(position)
        position = text.find(character, position + 1)
    return found
