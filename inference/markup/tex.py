"""TeX in the text of pages, the programs that typeset it, and the formulas that it makes."""

import re
from typing import NamedTuple

SCRIPT = "math/tex"
"""Type of a script that holds a formula."""
_DOLLARS = re.compile(r"""["']\$["']""")
_TYPESET = frozenset({"math", "math-container", "arithmatex", "tex2jax_process", "mathjax_process"})
"""Classes of elements whose text MathJax or KaTeX typesets."""
_WITH_DOLLARS = frozenset({"math-container", "tex2jax_process", "mathjax_process"})
_CDATA = re.compile(r"%?\s*<!\[CDATA\[|%?\s*\]\]>\s*\Z")
_STYLED = re.compile(r"\{\s*\\(?:display|text)style(?![A-Za-z])\s*(?P<tex>.*)\}", re.DOTALL)
_DELIMITER = re.compile(
    r"(?P<bracket>\\[(\[])|(?P<environment>\\begin\{(?P<name>[a-z]{1,20}\*?)\})|(?P<dollars>(?<!\\)\$\$?)"
)
_ENDS = {"\\(": "\\)", "\\[": "\\]"}
_UNMISTAKABLE = re.compile(r"\\[A-Za-z]{2,}|[_^]\{")
_LIKELY = re.compile(
    r"\\[A-Za-z,;:!|{}]|[_^][\w{\\]|\A[A-Za-z](?:['*]|\([A-Za-z]\))?\Z|[A-Za-z)\d]\s*[=<>+]\s*[A-Za-z(\d\\-]"
)
_PRICE = re.compile(r"\d[\d.,]*[,;]?\s+(?:[A-Za-z]{2}|\\\$)|\d[\d.,]*\s*\Z")
"""An amount of money, and words after it."""
_ENVIRONMENTS = frozenset(
    name + star
    for name in ("equation", "align", "gather", "multline", "eqnarray", "alignat", "flalign")
    for star in ("", "*")
)
_MAX_LENGTH = 5_000
"""Limit of a formula's characters."""


class Formula(NamedTuple):
    """Formula in a text, from its first mark to its last."""

    start: int
    end: int
    tex: str
    is_displayed: bool


def marks_by_dollars(script: str) -> bool:
    """Return True if a script tells MathJax or KaTeX that single dollars mark formulas."""
    return _DOLLARS.search(script) is not None


def is_typeset(classes: str) -> bool:
    """Return True if the classes of an element say that its formulas are typeset."""
    return not _TYPESET.isdisjoint(classes.split())


def is_typeset_with_dollars(classes: str) -> bool:
    """Return True if they say so of single dollars, too."""
    return not _WITH_DOLLARS.isdisjoint(classes.split())


def of_script(text: str) -> str:
    """Return the TeX that a script holds, with its white space folded."""
    return " ".join(_CDATA.sub("", text).split())


def unwrapped(tex: str) -> str:
    r"""Return the TeX without the group that MediaWiki puts around it: `{\displaystyle …}`."""
    styled = _STYLED.fullmatch(tex.strip())
    inner = styled["tex"].strip() if styled else ""
    return inner if inner and _is_balanced(inner) else tex


def _is_balanced(tex: str) -> bool:
    depth = 0
    for brace in re.findall(r"\\.|[{}]", tex):
        depth += {"{": 1, "}": -1}.get(brace, 0)
        if depth < 0:
            return False
    return depth == 0


def begins_formula(line: str) -> str:
    """Return the mark that would end the displayed formula that a line only begins; empty for none."""
    mark = _DELIMITER.match(line)
    if mark is None or mark[0] in ("\\(", "$"):
        return ""
    closing = f"\\end{{{mark['name']}}}" if mark["environment"] else _ENDS.get(mark[0], mark[0])
    return "" if closing in line[mark.end() :] else closing


def find_formulas(text: str, *, typesets: bool, dollars: bool) -> list[Formula]:
    r"""Return the formulas that a text has between marks, in order.

    `typesets` and `dollars` are as in `Markup`. Without a program that typesets them, and single dollars
    without its word, only what can be nothing but TeX is one.
    """
    found: list[Formula] = []
    position = 0
    ends: dict[str, int] = {}
    while mark := _DELIMITER.search(text, position):
        formula = _formula(text, mark, ends, typesets=typesets, dollars=dollars)
        if formula is None:
            position = mark.end()
        else:
            found.append(formula)
            position = formula.end
    return found


def _formula(
    text: str, mark: re.Match[str], ends: dict[str, int], *, typesets: bool, dollars: bool
) -> Formula | None:
    """Return the formula that a mark begins, if any; `ends` keeps the next end of each kind."""
    start, begin = mark.span()
    if mark["environment"]:
        return _environment(text, mark, ends)
    closing = _ENDS.get(mark[0], mark[0])
    end = _end(text, closing, begin, ends)
    if end < 0 or end - begin > _MAX_LENGTH:
        return None
    tex = text[begin:end].strip()
    is_single = closing == "$"
    if is_single and (text[begin].isspace() or text[end - 1].isspace() or text[end + 1 : end + 2].isdigit()):
        return None
    is_sure = dollars if is_single else typesets
    if is_single and not dollars:
        if _PRICE.match(tex):
            return None
        is_sure = typesets and _LIKELY.search(tex) is not None
    if not tex or not (is_sure or _UNMISTAKABLE.search(tex)):
        return None
    return Formula(start, end + len(closing), tex, closing in ("\\]", "$$"))


def _environment(text: str, mark: re.Match[str], ends: dict[str, int]) -> Formula | None:
    if mark["name"] not in _ENVIRONMENTS:
        return None
    closing = f"\\end{{{mark['name']}}}"
    end = _end(text, closing, mark.end(), ends)
    if end < 0 or end - mark.end() > _MAX_LENGTH:
        return None
    end += len(closing)
    return Formula(mark.start(), end, text[mark.start() : end], is_displayed=True)


def _end(text: str, closing: str, begin: int, ends: dict[str, int]) -> int:
    """Return the index of the mark that ends a formula, or -1."""
    end = ends.get(closing, 0)
    if 0 <= end < begin:
        end = text.find(closing, begin)
        while end > 0 and closing[0] == "$" and text[end - 1] == "\\":
            end = text.find(closing, end + 1)
        ends[closing] = end
    return end
