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
        (MATHML.replace("application/x-tex", "StarMath 5.0"), "x=1/2"),
        ("<math><mrow><msup><mi>a</mi><mi>b</mi></msup></mrow><mtext>or <b>c</b></mtext></math>", "a^b or c"),
        (
            "<math><mfrac><mrow><mi>a</mi> <mo>+</mo><mi>b</mi></mrow> <mn>2</mn></mfrac><mi>y</mi></math>",
            "(a+b)/2 y",
        ),
        (
            "<math><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup><msqrt><mn>2</mn></msqrt></math>",
            "x_i^2√(2)",
        ),
        (
            "<math><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover></math>",
            "∑_(i=1)^n",
        ),
        (
            "<math><msup><mrow><mo>(</mo><mi>a</mi><mo>)</mo></mrow><mrow><mi>b</mi></mrow></msup></math>",
            "(a)^b",
        ),
        ("<math><msub><mi>a</mi> <mrow> </mrow></msub> <mi>b</mi></math>", "ab"),
        ("<math alttext='\\frac{a}{b}'><mfrac><mi>a</mi><mi>b</mi></mfrac></math>", "\\frac{a}{b}"),
        ("<math alttext=' '><mi>a</mi></math>", "a"),
        (MATHML.replace("<math>", "<math alttext=other>"), TEX),
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
