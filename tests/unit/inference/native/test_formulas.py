import pytest

MATHML = """<math><semantics> <mrow><mi>x</mi><mo>=</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></mrow>
<annotation-xml encoding="MathML-Content"><apply></apply></annotation-xml>
<annotation encoding="application/x-tex">{\\displaystyle x=\\frac 1 2}</annotation></semantics></math>"""
TEX = "{\\displaystyle x=\\frac 1 2}"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (MATHML, TEX),
        (MATHML.replace("annotation>", "annotation><annotation encoding=StarMath>x</annotation>"), TEX),
        (MATHML.replace("application/x-tex", "StarMath 5.0"), "x=1 2"),
        ("<math><mrow><msup><mi>a</mi><mi>b</mi></msup></mrow><mtext>or <b>c</b></mtext></math>", "ab or c"),
        (f"<math>{110 * '<mrow>'}x{110 * '</mrow>'}</math>", "x"),
        ("<math><semantics><mi>x</mi><annotation encoding=application/x-tex></annotation></math>", "x"),
        ("<math><semantics><mi>x</mi><annotation encoding=application/x-tex> </annotation></math>", "x"),
        (f"<span><span style='display: none;'>{MATHML}</span><img alt='x'></span>", TEX),
        (
            f"<span><span class=katex-mathml>{MATHML}</span><span class=katex-html aria-hidden=true>"
            f"<span>x</span><span>=1/2</span></span></span>",
            TEX,
        ),
        ("<span><span></span><span class=katex-html>x</span></span>", "x"),
    ],
)
def test_a_formula_is_read_once(hidden, formula: str, text: str) -> None:
    assert hidden(f"<p>if {formula} then</p><div>{formula}</div>") == [
        (f"if {text} then", False),
        (text, False),
    ]


def test_a_hidden_formula_without_a_picture_is_hidden(hidden) -> None:
    assert hidden(f"<span hidden>{MATHML}</span><i></i>") == [(TEX, True)]
    assert hidden(f"<span hidden>{MATHML}<b>too</b></span><img>") == [(f"{TEX}too", True)]
