"""From the texts of a document to the blocks of a page: what a labeler of texts says of the blocks."""

import numpy as np
import numpy.typing as npt

from dehusk.inference.native.wrapping import visible_lengths
from dehusk.schemas.tree import DocumentTree


def block_shares(tree: DocumentTree, contents: npt.NDArray[np.bool_], blocks: int) -> npt.NDArray[np.float32]:
    """The share of each block that is content, shape [K, blocks], given which texts are, shape [K, L].

    What counts is characters but for white space, as some scripts have no other sign of where words end. A
    block without any text of the document, such as a formula that an attribute tells, has none.
    """
    read = np.flatnonzero(tree.blocks >= 0)
    of_block = tree.blocks[read]
    lengths = visible_lengths(tuple(map(tree.texts.__getitem__, read.tolist())))
    total = np.maximum(np.bincount(of_block, lengths, blocks), 1)
    shares = [np.bincount(of_block, lengths * content[read], blocks) / total for content in contents]
    return np.array(shares, np.float32)
