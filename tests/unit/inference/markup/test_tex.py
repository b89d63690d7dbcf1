import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.markup.tex import (
    begins_formula,
    find_formulas,
    is_typeset,
    is_typeset_with_dollars,
    marks_by_dollars,
    of_script,
    unwrapped,
)

SURE = [
    (r"a \(x_{1}\) b", [r"x_{1}"]),
    (r"a \[\frac{1}{2}\]", [r"\frac{1}{2}"]),
    (r"a $$\alpha + 1$$ b $\beta$.", [r"\alpha + 1", r"\beta"]),
    (r"\begin{align} a &= b \end{align}", [r"\begin{align} a &= b \end{align}"]),
    (r"\begin{document} a \end{document}", []),
    (r"\(x\) and $y$ and $$z$$", []),
    (r"costs $5 or $6, \$x_{1}$, $ x_{1} $", []),
    (r"$x_{1}$2 and $x_{1} $", []),
    (r"\( and \) and \(\)", []),
    (r"\(x_{1} and $\alpha", []),
]
TYPESET = [
    (r"\(x\), \[y\], $$z$$", ["x", "y", "z"]),
    ("$x$, $n = 1$, $f(x)$, $a_1$", ["x", "n = 1", "f(x)", "a_1"]),
    ("$5 and $6, $word$, $HOME/bin:$PATH", []),
    (r"\begin{equation*}x\end{equation*}", [r"\begin{equation*}x\end{equation*}"]),
]


@pytest.mark.parametrize(("text", "found"), SURE)
def test_without_a_program_formulas_are_what_can_be_nothing_else(text: str, found: list[str]) -> None:
    assert [each.tex for each in find_formulas(text, typesets=False, dollars=False)] == found


@pytest.mark.parametrize(("text", "found"), TYPESET)
def test_a_program_typesets_marked_text_and_what_looks_like_tex(text: str, found: list[str]) -> None:
    assert [each.tex for each in find_formulas(text, typesets=True, dollars=False)] == found


def test_a_program_may_take_dollars_for_marks() -> None:
    found = find_formulas(r"$word$ \$1 $a$$b$", typesets=True, dollars=True)
    assert [each.tex for each in found] == ["word", "a", "b"]


def test_formulas_have_their_places_and_kinds() -> None:
    text = r"a \(x\) $$y$$ \[z\]"
    found = find_formulas(text, typesets=True, dollars=False)
    assert [text[each.start : each.end] for each in found] == [r"\(x\)", "$$y$$", r"\[z\]"]
    assert [each.is_displayed for each in found] == [False, True, True]


@given(
    text=st.text(st.sampled_from("\\()[]${}^_ab1 "), max_size=60),
    program=st.booleans(),
    dollars=st.booleans(),
)
def test_formulas_do_not_overlap(*, text: str, program: bool, dollars: bool) -> None:
    end = 0
    for each in find_formulas(text, typesets=program, dollars=dollars):
        assert end <= each.start < each.end <= len(text)
        assert each.tex in text[each.start : each.end]
        end = each.end


@pytest.mark.parametrize(
    ("line", "closing"),
    [
        ("$$", "$$"),
        (r"\[ a", r"\]"),
        (r"\begin{align*}", r"\end{align*}"),
        ("$$a$$", ""),
        (r"\[a\]", ""),
        ("$", ""),
        (r"\(", ""),
        ("a $$", ""),
    ],
)
def test_a_line_may_begin_a_displayed_formula(line: str, closing: str) -> None:
    assert begins_formula(line) == closing


@pytest.mark.parametrize(
    ("tex", "inner"),
    [
        (r"{\displaystyle x}", "x"),
        (r" {\textstyle {\frac {a}{b}}} ", r"{\frac {a}{b}}"),
        (r"{\displaystyle x}{y}", r"{\displaystyle x}{y}"),
        (r"{\displaystyle \}}", r"\}"),
        (r"{\displaystyle }", r"{\displaystyle }"),
        (r"{\displaystyles x}", r"{\displaystyles x}"),
        ("x", "x"),
    ],
)
def test_the_group_of_mediawiki_is_taken_off(tex: str, inner: str) -> None:
    assert unwrapped(tex) == inner


def test_scripts_hold_tex_or_are_programs() -> None:
    assert of_script("% <![CDATA[\n a\n b %]]>") == "a b"
    assert of_script("x") == "x"
    assert marks_by_dollars("""MathJax = {tex: {inlineMath: [["$", "$"]]}}""")
    assert marks_by_dollars("{left: '$', right: '$', display: false}")
    assert not marks_by_dollars("MathJax = {}; x = '$$'")


def test_classes_tell_what_is_typeset() -> None:
    assert is_typeset("math inline")
    assert not is_typeset("aftermath")
    assert is_typeset_with_dollars("math-container")
    assert not is_typeset_with_dollars("math")


def test_marks_that_begin_no_formula_take_linear_time() -> None:
    assert find_formulas("\\(" * 200_000 + " " * 6_000 + "\\)", typesets=True, dollars=True) == []
