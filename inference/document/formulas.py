"""Formulas that the lines of a paragraph share: marks of TeX on lines of their own."""

from dehusk.inference.document.blocks import Line, Span
from dehusk.inference.tex import begins_formula, find_formulas
from dehusk.schemas.markup import Mark

_MAX_LINES = 40
"""Limit of a formula's lines."""


def join_formulas(lines: list[Line], *, typesets: bool) -> list[Line]:
    """Return the lines of a paragraph, those of a displayed formula as one."""
    joined: list[Line] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        closing = "" if line.spans else begins_formula(line.text)
        end = _end(lines, position, closing) if closing else -1
        formula = _formula(lines[position:end], typesets=typesets) if end > 0 else None
        joined.append(line if formula is None else formula)
        position = position + 1 if formula is None else end
    return joined


def _end(lines: list[Line], position: int, closing: str) -> int:
    """Return the index of the line after the one that ends a formula, or -1."""
    for end in range(position + 1, min(position + _MAX_LINES, len(lines))):
        if closing in lines[end].text:
            return end + 1 if lines[end].text.rstrip(".,; ").endswith(closing) else -1
    return -1


def _formula(lines: list[Line], *, typesets: bool) -> Line | None:
    text = " ".join(line.text for line in lines)
    found = find_formulas(text, typesets=typesets, dollars=False)
    if len(found) != 1 or found[0].start or not found[0].is_displayed:
        return None
    tex = found[0].tex
    return Line(text, [Span(0, found[0].end, Mark.DISPLAYED_FORMULA, meaning=tex)])
