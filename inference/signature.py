"""The tensors that block-labeling models read and give, declared once for workers, Triton and training.

A model reads one of three encodings of a page: `TOKENS` is BoilerNet's, `STRUCTURE` is the default model's,
`WEB2TEXT` is Web2Text's. A worker makes the first two of every page, the third where a model reads it, and
sends what the model declares, so that models of each kind take over while it runs. Some also tell user
comments from the rest.

Pages travel ragged: what belongs to all blocks one after the other. Triton merges the pages of several
requests and adds how much each of them brought (`batch_input` in `config.pbtxt`), so that the graph can tell
them apart.
"""

from dataclasses import dataclass, replace

from dehusk.schemas.pages import Encoding


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a model, of shape [-1]."""

    name: str
    data_type: str
    """Triton's name of the element type, e.g. `UINT32`."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many elements of a tensor each page of a batch brought; counted by the server."""

    tensor: Tensor
    counted: Tensor


PROBABILITIES = Tensor("prob", "FP32")
"""The probability that each block is content; NaN for a page whose lengths contradict its tokens."""
COMMENTS = Tensor("comment", "FP32")
"""The probability that each block is a user comment, and no content."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What one kind of model reads."""

    encoding: str
    """The name of the encoding, and what its hashes and columns mean."""
    request: tuple[Tensor, ...]
    counts: tuple[Count, ...]
    per_block: Tensor
    """The tensor of `request` that has one element per block, as each tensor of the answer has."""
    answer: tuple[Tensor, ...] = (PROBABILITIES,)
    encodings: frozenset[Encoding] = frozenset()
    """What it reads of a page beside what each page has."""

    @property
    def declared(self) -> str:
        """What a model must declare to be sent this encoding."""
        tensors = (*self.request, *self.answer)
        return f"{self.encoding}; " + "; ".join(f"{tensor.name} {tensor.data_type}" for tensor in tensors)


IDS = Tensor("ids", "UINT32")
"""The tokens (ancestor tags, words, punctuation) of all blocks, one block after the other."""
BLOCK_LENGTHS = Tensor("block_len", "UINT16")
"""How many of `ids` belong to each block."""
ID_COUNTS = Tensor("n_ids", "INT32")
BLOCK_COUNTS = Tensor("n_blocks", "INT32")

TOKENS = Signature(
    encoding="tokens 2 crc32",
    request=(IDS, BLOCK_LENGTHS),
    counts=(Count(ID_COUNTS, IDS), Count(BLOCK_COUNTS, BLOCK_LENGTHS)),
    per_block=BLOCK_LENGTHS,
)

WORDS = Tensor("words", "UINT32")
"""The hashed words of all blocks (of a long block the first and last), one block after the other."""
WORD_LENGTHS = Tensor("word_len", "UINT8")
"""How many of `words` belong to each block."""
HEADING = Tensor("heading", "INT32")
"""For each block, 1 + the index of the heading it stands under; 0 for none."""
ELEMENT = Tensor("element", "INT32")
"""For each block, 1 + the index of the element that holds it."""
ALIKE = Tensor("alike", "INT32")
"""For each block, the index of the first block whose innermost elements have the same tags and classes."""
FEATURES = Tensor("features", "UINT8")
"""The features of each block, one block after the other."""
PARENT = Tensor("parent", "INT32")
"""For each element, 1 + the index of its parent; 0 for the root."""
ELEMENT_TOKENS = Tensor("tokens", "UINT32")
"""The hashed tag and class names of all elements, one element after the other."""
ELEMENT_TOKEN_LENGTHS = Tensor("token_len", "UINT8")
"""How many of `tokens` belong to each element."""
PAGE_FEATURES = Tensor("page", "UINT8")
"""The features of the page as a whole."""
WORD_COUNTS = Tensor("n_words", "INT32")
ELEMENT_COUNTS = Tensor("n_elements", "INT32")
ELEMENT_TOKEN_COUNTS = Tensor("n_tokens", "INT32")

STRUCTURE = Signature(
    encoding="structure 2 crc32",
    request=(
        WORDS,
        WORD_LENGTHS,
        HEADING,
        ELEMENT,
        ALIKE,
        FEATURES,
        PARENT,
        ELEMENT_TOKENS,
        ELEMENT_TOKEN_LENGTHS,
        PAGE_FEATURES,
    ),
    counts=(
        Count(WORD_COUNTS, WORDS),
        Count(BLOCK_COUNTS, WORD_LENGTHS),
        Count(ELEMENT_COUNTS, PARENT),
        Count(ELEMENT_TOKEN_COUNTS, ELEMENT_TOKENS),
    ),
    per_block=WORD_LENGTHS,
)

STRUCTURE_WITH_COMMENTS = replace(STRUCTURE, answer=(PROBABILITIES, COMMENTS))

DISTANCES = Tensor("distance", "UINT8")
"""The hops from each block to the one before it in the collapsed DOM, 5 for more than 4; 0 for the first."""
BLOCK_FEATURES = Tensor("block_features", "FP16")
"""The raw features of each block, one block after the other."""
EDGE_FEATURES = Tensor("edge_features", "FP16")
"""The raw features of each block with the one before it, zeros for the first, one block after the other."""

WEB2TEXT = Signature(
    encoding="web2text 1",
    request=(DISTANCES, BLOCK_FEATURES, EDGE_FEATURES),
    counts=(Count(BLOCK_COUNTS, DISTANCES),),
    per_block=DISTANCES,
    encodings=frozenset((Encoding.WEB2TEXT,)),
)

SIGNATURES = (TOKENS, STRUCTURE, STRUCTURE_WITH_COMMENTS, WEB2TEXT)

SIGNATURE_KEY = "signature"
"""Where a model says which signature it has: a parameter in `config.pbtxt`, a property in `model.onnx`."""


def signature_of(declared: str) -> Signature | None:
    """The signature that a model declares, if it is one of those encoded here."""
    return next((each for each in SIGNATURES if each.declared == declared), None)
