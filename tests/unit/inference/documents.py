"""Documents as trees, and what is said of their texts."""

from collections.abc import Iterable

from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.markup import DocumentTree


def tree_of(html: str) -> DocumentTree:
    tree = segment(html.encode(), with_tree=True).tree
    assert tree is not None
    return tree


def texts_of(tree: DocumentTree, chosen: Iterable[bool]) -> list[str]:
    """The chosen texts that are more than white space, folded."""
    folded = (" ".join(text.split()) for text, keep in zip(tree.texts, chosen, strict=True) if keep)
    return [text for text in folded if text]
