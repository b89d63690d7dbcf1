import pytest

from dehusk.inference.markup.pictures import (
    address_among,
    address_of,
    address_of_any,
    in_noscript,
    is_icon,
    tex_of,
)


@pytest.mark.parametrize(
    ("attributes", "address"),
    [
        ({"src": " a "}, "a"),
        ({"src": "a", "data-src": "b"}, "b"),
        ({"src": "data:image/gif;base64,AA", "srcset": "a 1x, b 2x"}, "a"),
        ({"src": "a", "srcset": "b"}, "a"),
        ({"data-srcset": "a, b 2x"}, "a"),
        ({"src": "/img/blank.gif", "srcset": "b 1x"}, "b"),
        ({"src": "/1x1.trans.gif?v=1", "data-lazy": "b"}, "b"),
        ({"src": "/lazy_placeholder.gif", "data-wpfc-original-src": "b"}, "b"),
        ({"src": "/grey-placeholder.png"}, None),
        ({"src": "/Spacer.GIF", "data-src": "#"}, None),
        ({"src": "/placeholder.60f9b1840c.svg"}, None),
        ({"src": "https://s0.wp.com/i/blank.jpg?m=1"}, None),
        ({"srcset": "#, # 2x"}, None),
        ({"src": "/blank.gif/"}, "/blank.gif/"),
        ({"src": "/blank-page.png"}, "/blank-page.png"),
        ({"src": "/transparent.jpg"}, "/transparent.jpg"),
        ({"src": "/white.gif"}, "/white.gif"),
        ({"src": "/x?file=/blank.gif"}, "/x?file=/blank.gif"),
        ({"src": "DATA:x"}, None),
        ({"srcset": " "}, None),
        ({"src": "/a_300x.jpg", "data-src": "/a_{width}x.jpg"}, "/a_300x.jpg"),
        ({"src": "data:x", "data-src": "/a_{width}x.jpg"}, "/a_1024x.jpg"),
        ({"src": "{{ image.src }}"}, None),
        ({"src": "/a_{width}x{height}.jpg"}, None),
        ({"src": "/pixel-7.webp"}, "/pixel-7.webp"),
        ({"src": "/woocommerce-placeholder-600x600.png"}, None),
        ({}, None),
    ],
)
def test_an_image_has_the_address_that_a_script_would_load(
    attributes: dict[str, str], address: str | None
) -> None:
    assert address_of(attributes) == address


def test_an_image_without_an_address_has_that_of_an_alternative() -> None:
    assert address_of_any([{}, {"srcset": "data:x"}, {"srcset": "a 2x"}, {"src": "b"}]) == "a"
    assert address_of_any([{"src": "/spacer.gif"}]) is None
    assert address_of_any([{"src": "/tr?id=1", "width": "1", "height": "1"}]) is None
    assert address_among(["1024", "true", "100vw", "/", "data:x", "a.jpg 1x, b.jpg 2x"]) == "a.jpg"
    assert address_among(["/a{.width}.jpg", "/a_{width}x.jpg"]) == "/a_1024x.jpg"
    assert address_among(["/blank.gif", "lazyload", "//cdn.test/a?b"]) == "//cdn.test/a?b"
    assert address_among(["a", "0.5", "//cdn.test/a.mp4", "/a.html?b"]) is None
    assert in_noscript("text<IMG src='a?b=1&amp;c' alt>\n<img src=d>") == {"src": "a?b=1&c", "alt": ""}
    assert in_noscript("<p><image src=a><img<![x") == {}


@pytest.mark.parametrize(
    ("attributes", "icon"),
    [
        ({"width": "100%"}, False),
        ({"width": "17", "height": "600"}, False),
        ({"width": "600", "height": "1"}, True),
        ({"width": "16px"}, True),
        ({}, False),
    ],
)
def test_an_icon_is_small(attributes: dict[str, str], *, icon: bool) -> None:
    assert is_icon(attributes) is icon


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
