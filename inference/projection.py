"""From the texts of a document to the blocks of a page: what a labeler of texts says of the blocks."""

import numpy as np
import numpy.typing as npt

from dehusk.schemas.tree import DocumentTree


def block_shares(tree: DocumentTree, content: npt.NDArray[np.bool_], blocks: int) -> npt.NDArray[np.float32]:
    """Of each of so many blocks the share that is content, shape [blocks], given which texts are, shape [L].

    What counts is characters but for white space, as some scripts have no other sign of where words end. A
    block without any text of the document, such as a formula that an attribute tells, has none.
    """
    read = tree.blocks >= 0
    lengths = np.fromiter((len("".join(text.split())) for text in tree.texts), np.float64, len(tree.texts))
    of_block = tree.blocks[read]
    total = np.bincount(of_block, lengths[read], blocks)
    kept = np.bincount(of_block, (lengths * content)[read], blocks)
    shares: npt.NDArray[np.float32] = (kept / np.maximum(total, 1)).astype(np.float32)
    return shares
