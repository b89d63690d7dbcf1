"""The tensors that a block-labelling model reads and gives, declared once for workers, Triton and training.

Pages travel ragged: the tokens of all blocks one after the other, and how many belong to each block. Triton
merges the pages of several requests and adds how many ids and blocks each of them brought (`batch_input` in
`config.pbtxt`), so that the graph can tell the pages apart.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a model, of shape [-1]."""

    name: str
    data_type: str
    """Triton's name of the element type, e.g. `UINT32`."""


IDS = Tensor("ids", "UINT32")
"""The hashed tokens of all blocks, one block after the other."""
BLOCK_LENGTHS = Tensor("block_len", "UINT16")
"""How many of `ids` belong to each block."""
ID_COUNTS = Tensor("n_ids", "INT32")
"""How many of `ids` belong to each page of a batch; counted by the server."""
BLOCK_COUNTS = Tensor("n_blocks", "INT32")
"""How many of `block_len` belong to each page of a batch; counted by the server."""
PROBABILITIES = Tensor("prob", "FP32")
"""The probability that each block is content; NaN for a page whose lengths do not sum to its ids."""

REQUEST = (IDS, BLOCK_LENGTHS)
COUNTS = (ID_COUNTS, BLOCK_COUNTS)
ANSWER = (PROBABILITIES,)

SIGNATURE_KEY = "signature"
"""Where a model says which signature it has: a parameter in `config.pbtxt`, a property in `model.onnx`."""
SIGNATURE = "tokens crc32; " + "; ".join(
    f"{tensor.name} {tensor.data_type}" for tensor in (*REQUEST, *ANSWER)
)
"""What a model must declare: the hash of its tokens and the tensors that cross the wire."""
