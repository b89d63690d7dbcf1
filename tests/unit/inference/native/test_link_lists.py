"""Lists of links alone among the blocks of an element."""

import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment

LINKS = "<ul><li><a href=/a>One</a><li><a href=/b>Two</a></ul>"


@pytest.mark.parametrize(
    ("html", "lists"),
    [
        (f"<div><p>Text</p>{LINKS}<p>Text</p></div>", [[1, 3]]),
        (f"<h2>Text</h2>{LINKS.replace('ul', 'ol')}", [[1, 3]]),
        (f"<p>Text</p>{LINKS}<p>Text</p>{LINKS}", [[1, 3], [4, 6]]),
        ("<p>Text</p><ul><li><a href=/a>One</a> or so, or more<li>Two</ul>", []),
        (f"<p>Text</p><ul hidden>{LINKS[4:]}", []),
        (f"<div><p>Text</p></div>{LINKS}", []),
        (f"<p>Text</p><div>{LINKS}</div>", []),
        (f"{LINKS}<p>Text</p>", []),
        (f"<p>Text</p><ul><li><a href=/c>Zero</a>{LINKS}</ul><p>Text", [[1, 4]]),
        ("<p>Text</p><menu><li><a href=/a>One</a></menu>", []),
        ("", []),
    ],
)
def test_lists_of_links_alone_follow_a_block_in_the_same_element(html: str, lists: list[list[int]]) -> None:
    found = encode(segment(html.encode())).link_lists
    assert ([] if found is None else found.T.tolist()) == lists
