"""Looks of blocks, by their paths and boundaries."""

from dehusk.inference.segmentation.segmentation import segment
from dehusk.streams.inspection.steps import ShownBlock, shown_blocks

HTML = b"""<h2><a>Head</a></h2><p>One<br>two <span hidden>secret</span> three
<ul><li>a<ol start=4><li>b</ol></ul><table><tr><th>x<td>y<tr><td>z</table>
<pre>code</pre><blockquote><p>said"""


def shown(html: bytes) -> dict[str, ShownBlock]:
    return {block.text: block for block in shown_blocks(segment(html))}


def test_blocks_have_their_kinds() -> None:
    assert {text: block.kind for text, block in shown(HTML).items()} == {
        "Head": "h2",
        "One": "p",
        "two": "p",
        "secret": "p",
        "three": "p",
        "a": "li",
        "b": "li",
        "x": "th",
        "y": "td",
        "z": "td",
        "code": "pre",
        "said": "blockquote",
    }


def test_blocks_begin_what_their_boundaries_say() -> None:
    begins = {text: block.begins for text, block in shown(HTML).items()}
    assert begins["One"] == begins["code"] == "paragraph"
    assert begins["two"] == "line"
    assert begins["y"] == "cell"
    assert begins["z"] == "row"
    assert begins["secret"] == ""


def test_items_have_markers_and_depths() -> None:
    blocks = shown(HTML)
    assert [(blocks[text].marker, blocks[text].depth) for text in ("a", "b", "Head")] == [
        ("•", 1),
        ("4.", 2),
        ("", 0),
    ]


def test_what_is_hidden_says_so() -> None:
    assert [text for text, block in shown(HTML).items() if block.hidden] == ["secret"]


def test_a_page_without_text_has_no_blocks() -> None:
    assert shown_blocks(segment(b"")) == []
