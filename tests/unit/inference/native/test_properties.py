"""Elements that a walk finds marked for machines, wherever they stand."""

import pytest

from dehusk.inference.native.properties import Marked, Properties
from dehusk.inference.native.recording import Recording
from dehusk.inference.native.walk import Walk
from dehusk.inference.segmentation.parser import parse


def properties(html: str, *, bylines: bool = True) -> Properties:
    document = parse(html.encode())
    assert document.root is not None
    marked = Marked(bylines=bylines)
    Walk(
        document,
        document.root.mem_id,
        1000,
        fallback=False,
        recording=Recording(whole=False),
        marked=marked,
    )
    return Properties(document, marked, {})


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "<head><title>a</title>{}",
        "<div>text {}</div>",
        "<div hidden>{}</div>",
        "<select><option>{}</select>",
        "<button>{}</button>",
        "<object>{}</object>",
        "<video>{}</video>",
        "<div aria-hidden=true>{}</div>",
        "<h2>a<a class=headerlink href=#a>{}</a></h2>",
        "<span class=sr-only>{}</span>",
        "<svg><g><path/></g></svg>{}",
        "<svg><foreignObject><p>a</p></foreignObject></svg>{}",
        "<p>a<svg><title>b</title></svg></p>{}",
        "<math><mi>x</mi></math>{}",
        "<math alttext='x'><mi>x</mi></math>{}",
    ],
)
def test_what_is_marked_is_read_wherever_it_stands(around: str) -> None:
    found = properties(
        around.format('<meta name="author" content="Ann"><time datetime="2024-05-01">May</time>')
    )
    assert found.metas == [("author", "Ann")]
    assert [when for when, *_ in found.times] == ["2024-05-01"]


@pytest.mark.parametrize(
    "around",
    [
        "<svg>{}</svg>",
        "<svg><foreignObject>{}</foreignObject></svg>",
        "<svg><g><foreignObject><div><svg><foreignObject>{}</foreignObject></svg></div></foreignObject></g></svg>",
        "<template>{}</template>",
    ],
)
def test_nothing_is_read_in_drawings_and_templates(around: str) -> None:
    html = around.format('<g itemprop="author">Ann</g> <a rel="author">Ann</a>')
    found = properties(html + "<b class=byline>By Eve</b>")
    assert (found.items, found.links) == ([], [])
    assert found.bylines == ["By Eve"]


def test_properties_come_in_the_order_of_the_page() -> None:
    html = "<meta name=a content=1><p><img itemprop=image src=2><b itemprop=c>3</b><meta name=a content=4>"
    found = properties(html)
    assert found.metas == [("a", "1"), ("a", "4")]
    assert [(names, value) for names, value, *_ in found.items] == [("image", "2"), ("c", "3")]


@pytest.mark.parametrize(
    "classes", ["byline", "author", "post-author-name", "c-byline", "x bylines", "coauthors"]
)
def test_bylines_are_told_by_their_classes(classes: str) -> None:
    html = f'<p class="{classes}">Ann Lee</p>'
    assert properties(html).bylines == ["Ann Lee"]
    assert properties(html, bylines=False).bylines == []


@pytest.mark.parametrize(
    "classes", ["", "by", "bylin", "autho", "ylineautho", "authbylin", "by line au thor"]
)
def test_other_classes_tell_no_byline(classes: str) -> None:
    assert properties(f'<p class="{classes}">Ann Lee</p>').bylines == []
