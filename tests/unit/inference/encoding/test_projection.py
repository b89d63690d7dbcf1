import numpy as np
import pytest

from dehusk.inference.encoding.ancestry import block_shares
from dehusk.inference.segmentation.segmentation import segment


def shares(html: str, content: set[str]) -> list[float]:
    page = segment(html.encode(), with_tree=True)
    tree = page.tree
    assert tree is not None
    chosen = np.array([text.strip() in content for text in tree.texts], np.bool_)
    nothing = np.zeros(len(chosen), np.bool_)
    shares, none = block_shares(tree, np.array([chosen, nothing]), len(page)).tolist()
    assert none == [0] * len(page)
    return shares


@pytest.mark.parametrize(
    ("html", "content", "expected"),
    [
        ("<p>one<p>two", {"two"}, [0, 1]),
        ("<p>one <b>two</b></p>", {"two"}, [0.5]),
        ("<p>a b  c\n<b>d</b></p>", {"d"}, [0.25]),
        ("<p>漢字<b>漢</b><i>字</i></p>", {"漢字"}, [0.5]),
        ("<p>one <b>|</b></p><p>|</p>", {"|"}, [0.25, 1]),
        ("<p>one<script>var two</script></p>", {"var two"}, [0]),
        ("", {"one"}, []),
    ],
)
def test_a_block_has_the_share_of_its_characters_that_is_content(
    html: str, content: set[str], expected: list[float]
) -> None:
    assert shares(html, content) == expected


def test_a_formula_that_an_attribute_tells_has_no_share() -> None:
    formula = "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></math>"
    assert shares(f"<p>one</p><p>{formula}</p>", {"one", "x", "x^2"}) == [1, 0]
