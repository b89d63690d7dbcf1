import pytest

from inference.elements import (
    BLOCK,
    BREAK,
    FALLBACK,
    INLINE,
    LINK,
    MAX_PATH,
    SKIPPED,
    TIGHT,
    ElementPath,
    PathTree,
)
from schemas.pages import Boundary


@pytest.mark.parametrize(
    ("tag", "kind"),
    [
        ("div", BLOCK),
        ("x-element", BLOCK),
        ("span", INLINE),
        ("strong", TIGHT),
        ("a", LINK),
        ("br", BREAK),
        ("noscript", FALLBACK),
        ("script", SKIPPED),
        ("-comment", SKIPPED),
        ("", SKIPPED),
    ],
)
def test_an_element_is_of_one_kind(tag: str, kind: int) -> None:
    assert ElementPath(tag).kind == kind


def test_an_item_is_marked_at_its_start() -> None:
    item = ElementPath("li")
    assert (item.start, item.end) == (Boundary.LINE | Boundary.ITEM, Boundary.LINE)


def test_a_path_is_spelled_from_the_root() -> None:
    tree = PathTree()
    html = tree.add(tree.root(), 1, "html")
    assert tree.add(html, 2, "body").text == "html/body"
    assert html[2].parent is html


def test_a_long_path_names_the_innermost() -> None:
    tree = PathTree()
    path = tree.root()
    for number in range(MAX_PATH + 2):
        path = tree.add(path, number, f"t{number}")
    assert path.text.split("/") == [f"t{number}" for number in range(2, MAX_PATH + 2)]


def test_preformatted_is_all_that_a_preformatted_element_holds() -> None:
    tree = PathTree()
    pre = tree.add(tree.root(), 1, "pre")
    assert tree.add(pre, 2, "span").preformatted
    assert not tree.add(tree.root(), 3, "p").preformatted


def test_paths_are_forgotten_between_pages_when_they_are_too_many() -> None:
    tree = PathTree(size=2)
    first = tree.root()
    tree.add(first, 1, "a")
    tree.add(first, 2, "b")
    assert tree.root() is first
    tree.add(first, 3, "c")
    assert len(first) == 3
    assert tree.root() is not first
