"""The HTML of a page's content holds nothing but what it may, whatever the page holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from dehusk.inference.document.html import ATTRIBUTES, html
from dehusk.inference.document.outline import outline
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.options import NO_RENDERING, DocumentOptions, Rendering

URL = "https://a.test/b/c"
WITH_MARKUP = DocumentOptions(rendering=Rendering(markdown=True))
SAFE = ("http://", "https://", "ftp://", "mailto:", "tel:")


def html_of(page: str, left_out: str = "", rendering: Rendering = NO_RENDERING) -> str:
    segmented = segment(page.encode(), options=WITH_MARKUP)
    content = np.array([text not in left_out.split() for text in segmented.texts], np.bool_)
    return html(outline(segmented, content, URL, rendering))


def assert_allowed(written: str) -> None:
    body = LexborHTMLParser(f"<!DOCTYPE html><html><head></head><body>{written}</body></html>").body
    assert body is not None
    for node in body.traverse(include_text=True):
        if node.tag in ("-text", "body"):
            continue
        assert node.tag in ATTRIBUTES
        assert set(node.attributes) <= set(ATTRIBUTES[node.tag])
        for name in ("href", "src"):
            assert (node.attributes.get(name) or SAFE[0]).startswith(SAFE)


@pytest.mark.parametrize(
    ("page", "written"),
    [
        ("<h2 onclick=x>A <i>b</i></h2><div>c<br>d</div>", "<h2>A <em>b</em></h2>\n<p>c<br>d</p>"),
        (
            "<ul><li>a<ul><li>b</ul><li><p>c<p>d",
            "<ul><li>a<ul><li>b</li></ul></li><li><p>c</p><p>d</p></li></ul>",
        ),
        ("<ol start=3><li>a<li>OUT<li>b", '<ol start="3"><li>a</li><li value="5">b</li></ol>'),
        ("<ol reversed><li>a<li>b", '<ol start="2"><li>a</li><li value="1">b</li></ol>'),
        (
            "<p>x<sup>2</sup> 10<sup>2</sup> H<sub>2</sub>",
            "<p>x<sup>2</sup> 10<sup>2</sup> H<sub>2</sub></p>",
        ),
        ("<blockquote><p>a<p>b</blockquote>", "<blockquote><p>a</p><p>b</p></blockquote>"),
        ("<dl><dt>a<dd>b</dl>", "<dl><dt>a</dt><dd>b</dd></dl>"),
        (
            "<pre class=language-c><code>a &lt; b\n  c</code></pre>",
            '<pre><code class="language-c">a &lt; b\n  c</code></pre>',
        ),
        (
            "<figure><img src='d\"' alt='\"<b>'><figcaption>e</figure>",
            '<figure><img src="https://a.test/b/d%22" alt="&quot;&lt;b&gt;">'
            "<figcaption>e</figcaption></figure>",
        ),
        (
            "<table><tr><th>a<th>b<tr><td>c<br>d<td>e</table>",
            "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
            "<tbody><tr><td>c<br>d</td><td>e</td></tr></tbody></table>",
        ),
        (
            "<table><tr><th>a<th>b<tr><td><ul><li>c<li>d</ul><td><pre>e</pre></table>",
            "<tbody><tr><td>c<br>d</td><td><code>e</code></td></tr></tbody>",
        ),
        ("<p>a <s>b</s><hr><p>c", "<p>a <del>b</del></p>\n<hr>\n<p>c</p>"),
        (
            "<ul><li><input type=checkbox disabled checked>a<li>b</ul>",
            '<ul><li><input type="checkbox" checked disabled> a</li><li>b</li></ul>',
        ),
        (
            "<p>a<p><iframe src='//player.vimeo.com/video/1' title='b<c'></iframe><p>d",
            '<p><a href="https://vimeo.com/1">b&lt;c</a></p>',
        ),
        (
            "<p><a href=x>a <video src=v></video> b</a><a href=y>c</a>",
            '<p><a href="https://a.test/b/x">a b</a> <a href="https://a.test/b/v">Video</a> '
            '<a href="https://a.test/b/y">c</a></p>',
        ),
        ("<p>a <script type='math/tex'>b<c</script>.", "<p>a \\(b&lt;c\\).</p>"),
        (
            "<p>a<sup><a href=#n id=r>1</a></sup><ol><li id=n>b <a href=#r>x</a></ol>",
            '<p>a<sup><a href="https://a.test/b/c#n">1</a></sup></p>\n'
            '<ol><li>b <a href="https://a.test/b/c#r">x</a></li></ol>',
        ),
        ("<p>1<sub>^</sub> 10<sup>2</sup>", "<p>1<sub>^</sub> 10<sup>2</sup></p>"),
        ("<p>a <img src=x> b", '<p>a <img src="https://a.test/b/x" alt=""> b</p>'),
        ("<p>a <a href='?d&e'>f</a>", '<a href="https://a.test/b/c?d&amp;e">f</a>'),
        (
            "<p><math><semantics><mi>x</mi>"
            "<annotation encoding='application/x-tex'>a&lt;b</annotation></math>",
            "<p>\\(a&lt;b\\)</p>",
        ),
    ],
)
def test_the_structure_of_the_content_is_kept(page: str, written: str) -> None:
    found = html_of(page, "OUT")
    assert written in found
    assert_allowed(found)


def test_numbered_lists_within_each_other_take_linear_time() -> None:
    assert html_of("<ol><li>a" * 30) == "<ol><li>a" * 30 + "</li></ol>" * 30


@pytest.mark.parametrize(
    ("rendering", "absent"),
    [(Rendering(links=False), "<a"), (Rendering(images=False), "<img"), (Rendering(tables=False), "<table")],
)
def test_links_images_and_tables_can_be_left_out(rendering: Rendering, absent: str) -> None:
    page = "<p>a <a href=x>b</a> <img src=d> c<table><tr><th>c<th>d<tr><td>e<td>f</table>"
    assert absent in html_of(page)
    assert absent not in html_of(page, rendering=rendering)


HOSTILE = [
    "<p onclick=alert(1) style='x' id=y>a<script>alert(1)</script>",
    "<a href='javascript:alert(1)'>a</a>",
    "<a href=' jAvA&#x0A;scr&Tab;ipt:alert(1)'>a</a>",
    "<a href='&#x1;javascript:alert(1)'>a</a>",
    "<a href='javascript&colon;alert(1)'>a</a>",
    "<a href='data:text/html;base64,PHNjcmlwdD4='>a</a><img src='data:image/svg+xml,<svg onload=x>' alt=a>b",
    "<a href='https://x\" onmouseover=\"alert(1)'>a</a>",
    "<a href=\"https://x' onmouseover='alert(1)\">a</a>",
    "<p>a<p><img src=x onerror=alert(1) alt='\"><script>alert(1)</script>'><p>b",
    "<p>a<p><img src='x\" onerror=\"alert(1)'><p>b",
    "<svg><style><img src=x onerror=alert(1)></style></svg><p>a",
    "<svg></p><style><a id='</style><img src=1 onerror=alert(1)>'>a",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>a",
    "<math><mi//xlink:href='data:x,<script>alert(4)</script>'>a</math>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>a",
    "<template><img src=x onerror=alert(1)></template><p>a",
    "<template shadowrootmode=open><p onclick=x>a<script>1</script></template>",
    "<p>a<!-- <img src=x onerror=alert(1)>",
    "<p>a<!--><script>alert(1)</script>-->",
    "<p>&lt;script&gt;alert(1)&lt;/script&gt; &lt;img src=x onerror=alert(1)&gt;",
    "<textarea></textarea><p>a<textarea><script>1</script>",
    "<xmp><script>alert(1)</script></xmp><plaintext><script>alert(1)</script>",
    "<pre class='language-x\"><script>alert(1)</script>'>a",
    "<pre class=\"language-x'onclick=y\" data-lang='\"><script>1</script>'>a",
    "<form action='javascript:x'><button formaction='javascript:x'>a",
    "<iframe srcdoc='<script>1</script>'></iframe><object data=x><embed src=y><p>a",
    "<base href='javascript:alert(1)//'><a href=x>a</a>",
    "<base href='data:text/html,'><a href='#x'>a</a>",
    "<ol start='1\" onclick=\"x'><li value='1\" onclick=\"x'>a",
    "<select><option><script>1</script>a</select><p>b",
    "<svg><foreignObject><p onclick=x>a<script>1</script></foreignObject></svg>",
    "<a href='//x'>a</a><a href='\\\\x'>b</a><a href='http:javascript:x'>c</a>",
    "<x-y onclick=z>a</x-y><p is=x-y slot=y>b",
]


@pytest.mark.parametrize("page", HOSTILE)
def test_hostile_markup_is_not_written(page: str) -> None:
    assert_allowed(html_of(page))
    assert_allowed(html_of(f"<p>a <b>{page}</b> c<ul><li>{page}"))


PIECES = st.lists(
    st.sampled_from([*HOSTILE, "</p>", "<table><tr><td>", "</b>", "'", '"', "-->", "</script>", "<"])
)


@settings(max_examples=150)
@given(st.tuples(PIECES, st.text(max_size=10)).map(lambda each: each[1].join(each[0])))
def test_no_mixture_of_hostile_markup_is_written(page: str) -> None:
    assert_allowed(html_of(page))
