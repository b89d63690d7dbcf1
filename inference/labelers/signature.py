"""The tensors that block-labeling models read and answer, declared once for workers, Triton and training.

A model reads one of three encodings of a page: `TOKENS` is BoilerNet's, `STRUCTURE` the default model's,
`WEB2TEXT` Web2Text's. A worker makes the second of every page, the others where a model reads them, and sends
the tensors that the model declares, so that models of each kind take over while it runs. Some models also
distinguish user comments, and some of these also kinds of pages.

Pages travel ragged: the elements of all blocks one after the other. Triton merges the pages of several
requests and adds the number of elements of each (`batch_input` in `config.pbtxt`), so that the graph can
separate them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from dehusk.schemas.pages import PAGE_KINDS, Encoding


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a model, of shape [-1], or of shape [pages, columns] where it has columns."""

    name: str
    data_type: str
    """Triton's name of the element type, e.g. `UINT32`."""
    columns: tuple[str, ...] = field(default=(), compare=False)
    """Names of the columns of a tensor with a row for each page; a header of a model does not name them."""

    @property
    def declared(self) -> str:
        """Text of the tensor in a signature, its columns included, whose order is thereby part of it."""
        return " ".join((self.name, self.data_type, *self.columns))


@dataclass(frozen=True, slots=True)
class Count:
    """Number of elements of a tensor that each page of a batch brought; counted by the server."""

    tensor: Tensor
    counted: Tensor


PROBABILITIES = Tensor("prob", "FP32")
"""Probability that each block is content; NaN for a page whose lengths contradict its tokens."""
COMMENTS = Tensor("comment", "FP32")
"""Probability that each block is a user comment that is no content."""
PAGE_KIND = Tensor("page_kind", "FP32", PAGE_KINDS)
"""Probability of each kind of page, one row for each page."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Tensors that one kind of model reads and answers."""

    encoding: str
    """Name of the encoding, with versions of its hashes and columns."""
    request: tuple[Tensor, ...]
    counts: tuple[Count, ...]
    per_block: Tensor
    """Tensor of `request` with one element per block, like each tensor of the answer without columns."""
    answer: tuple[Tensor, ...] = (PROBABILITIES,)
    """Tensors answered: the first one, two or three of PROBABILITIES, COMMENTS and PAGE_KIND."""
    encodings: frozenset[Encoding] = frozenset()
    """Optional encodings that it needs."""

    @property
    def model_inputs(self) -> set[Tensor]:
        """Tensors that a model's file reads: those of a request, and the counts that the server adds."""
        return {*self.request, *(count.tensor for count in self.counts)}

    @property
    def declared(self) -> str:
        """Text that a model must declare to be sent this encoding."""
        return "; ".join((self.encoding, *(tensor.declared for tensor in (*self.request, *self.answer))))


IDS = Tensor("ids", "UINT32")
BLOCK_LENGTHS = Tensor("block_len", "UINT16")
ID_COUNTS = Tensor("n_ids", "INT32")
BLOCK_COUNTS = Tensor("n_blocks", "INT32")

TOKENS = Signature(
    encoding="tokens 2 crc32",
    request=(IDS, BLOCK_LENGTHS),
    counts=(Count(ID_COUNTS, IDS), Count(BLOCK_COUNTS, BLOCK_LENGTHS)),
    per_block=BLOCK_LENGTHS,
    encodings=frozenset((Encoding.TOKENS,)),
)
"""The fields of `TokenTensors`."""

WORDS = Tensor("words", "UINT32")
WORD_LENGTHS = Tensor("word_len", "UINT8")
HEADING = Tensor("heading", "INT32")
ELEMENT = Tensor("element", "INT32")
ALIKE = Tensor("alike", "INT32")
FEATURES = Tensor("features", "UINT8")
PARENT = Tensor("parent", "INT32")
ELEMENT_TOKENS = Tensor("tokens", "UINT32")
ELEMENT_TOKEN_LENGTHS = Tensor("token_len", "UINT8")
PAGE_FEATURES = Tensor("page", "UINT8")
LINKS = Tensor("links", "UINT8")
ADDRESS = Tensor("address", "UINT8")
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
"""The fields of `StructureTensors` but those on links, the features of one block after the other."""

STRUCTURE_WITH_COMMENTS = replace(STRUCTURE, answer=(PROBABILITIES, COMMENTS))
STRUCTURE_WITH_PAGE_KIND = replace(STRUCTURE, answer=(PROBABILITIES, COMMENTS, PAGE_KIND))
STRUCTURE_WITH_LINKS = replace(STRUCTURE_WITH_PAGE_KIND, request=(*STRUCTURE.request, LINKS, ADDRESS))
"""All fields of `StructureTensors`."""

DISTANCES = Tensor("distance", "UINT8")
BLOCK_FEATURES = Tensor("block_features", "FP16")
EDGE_FEATURES = Tensor("edge_features", "FP16")

WEB2TEXT = Signature(
    encoding="web2text 1",
    request=(DISTANCES, BLOCK_FEATURES, EDGE_FEATURES),
    counts=(Count(BLOCK_COUNTS, DISTANCES),),
    per_block=DISTANCES,
    encodings=frozenset((Encoding.WEB2TEXT,)),
)
"""The fields of `Web2TextTensors`, the features of one block after the other."""

SIGNATURES = (
    TOKENS,
    STRUCTURE,
    STRUCTURE_WITH_COMMENTS,
    STRUCTURE_WITH_PAGE_KIND,
    STRUCTURE_WITH_LINKS,
    WEB2TEXT,
)

SIGNATURE_KEY = "signature"
"""Name of the signature in a model: a parameter in `config.pbtxt`, a property in `model.onnx`."""
TRUSTED_KEY = "trusted_version"
"""Parameter in `config.pbtxt` that names the trusted version."""


def signature_of(declared: str) -> Signature | None:
    """Return the signature that a model declares, or None for one that is not encoded here."""
    return next((each for each in SIGNATURES if each.declared == declared), None)


def unknown_signature(model: str, declared: str) -> str:
    """Return the message on a model whose signature is none of `SIGNATURES`."""
    known = " and ".join(repr(each.declared) for each in SIGNATURES)
    return f"{model} declares the signature {declared!r}; known are {known}"


def names_of(tensors: Iterable[Tensor]) -> str:
    """Return the names and types of tensors for a message."""
    return ", ".join(sorted(f"{tensor.name} {tensor.data_type}" for tensor in tensors)) or "none"
