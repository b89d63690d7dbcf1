import pytest

from dehusk.inference.pictures import address_of, tex_of


@pytest.mark.parametrize(
    ("attributes", "address"),
    [
        ({"src": " a "}, "a"),
        ({"src": "a", "data-src": "b"}, "b"),
        ({"src": "data:image/gif;base64,AA", "srcset": "a 1x, b 2x"}, "a"),
        ({"src": "a", "srcset": "b"}, "a"),
        ({"data-srcset": "a, b 2x"}, "a"),
        ({"src": "a", "width": "100%"}, "a"),
        ({"src": "a", "width": "17", "height": "600"}, "a"),
        ({"src": "a", "width": "600", "height": "1"}, None),
        ({"src": "a", "width": "16px"}, None),
        ({"src": "DATA:x"}, None),
        ({"srcset": " "}, None),
        ({}, None),
    ],
)
def test_an_image_has_the_address_that_a_script_would_load(
    attributes: dict[str, str], address: str | None
) -> None:
    assert address_of(attributes) == address


@pytest.mark.parametrize(
    ("attributes", "classes", "tex"),
    [
        ({"alt": "x^2"}, "latex aligncenter", "x^2"),
        ({"alt": "\\displaystyle  x ^2"}, "latex", "x ^2"),
        ({"alt": "$x$"}, "tex", "x"),
        ({"alt": "{\\displaystyle x}"}, "mwe-math-fallback-image-inline", "{\\displaystyle x}"),
        ({"alt": "x", "src": "https://s0.wp.com/latex.php?latex=x"}, "", "x"),
        ({"alt": "x", "src": "//latex.codecogs.com/gif.latex?x"}, "", "x"),
        ({"alt": "x", "src": "https://www.zhihu.com/equation?tex=x"}, "", "x"),
        ({"alt": " "}, "latex", ""),
        ({"alt": "A latex glove", "src": "/latex.png"}, "gloves", ""),
    ],
)
def test_an_image_of_a_formula_has_its_tex(attributes: dict[str, str], classes: str, tex: str) -> None:
    assert tex_of(attributes, classes) == tex
