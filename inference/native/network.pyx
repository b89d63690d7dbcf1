# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The default model in native code, `answer.h`: its weights, and its answers to pages."""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uintptr_t
from libc.stdlib cimport free, malloc

import numpy as np

cdef extern from "network.h":
    enum:
        BLOCK_COLUMNS, LINK_COLUMNS, SCORES, INPUTS, PAGE_COLUMNS, ADDRESS_COLUMNS, OF_PAGE
        WORD_BUCKETS, ELEMENT_BUCKETS, ELEMENT_ROW, DENSE, HIDDEN, GATES, OUTPUTS, KINDS, LEAVES, COLUMNS

    ctypedef struct Node:
        pass

    ctypedef struct Weights:
        const float *words
        const float *elements
        const float *score_biases
        const float *page_factors
        const float *page_offsets
        const float *page_dense
        const float *factors
        const float *offsets
        const float *none
        const float *dense
        const float *dense_bias
        const float *inputs
        const float *gate_biases
        const float *recurrent
        const float *output_states
        const float *output_dense
        const float *output_page
        const float *output_bias
        const float *kinds
        const float *kind_bias
        const double *word_weights
        const Node *nodes
        const int32_t *tree_nodes
        const float *leaves
        int trees
        float network_share
        float trees_share
        float offset

    ctypedef struct Page:
        int blocks
        int elements
        int word_count
        int token_count
        const uint32_t *words
        const uint32_t *tokens
        const uint8_t *word_lengths
        const uint8_t *token_lengths
        const uint8_t *features
        const uint8_t *links
        const uint8_t *page
        const uint8_t *address
        const int32_t *heading
        const int32_t *element
        const int32_t *alike
        const int32_t *parent

    ctypedef struct Answer:
        float *content
        float *comments
        float *kinds

    ctypedef struct Code:
        int state_panel
        int dense_panel
        int gate_panel
        void (*answer)(const Weights *weights, const Page *page, char *memory, const Answer *answer) noexcept nogil

    const Code *find_code(int width)
    const float INPUT_LIMIT
    size_t space_of(int blocks, int elements) nogil

cdef enum:
    CACHE_LINE = 64  # bytes

WIDTHS = tuple(width for width in (8, 16) if find_code(width) is not NULL)
"""Widths, in numbers of float32, of the vectors of this processor that there is code for, the fastest last."""


cdef class Network:
    """The weights of the default model, by which pages are answered, one at a time."""

    cdef const Code *_code
    cdef Weights _weights
    cdef list _kept

    def __cinit__(self, arrays, int width, float network_share, float trees_share, float offset):
        """Take the weights for the code of a width: `arrays` by the names of the struct, as the graph has them.

        `nodes` are of the type of the struct `Node`, `leaves` of shape [trees, LEAVES].

        Raises:
            ValueError: there is no code of the width, or an array does not fit or has numbers that are not finite.
        """
        cdef const Code *code = find_code(width)
        if code is NULL:
            raise ValueError(f"no code for vectors of {width} numbers on this processor")
        self._code = code
        cdef Weights *weights = &self._weights
        cdef int trees = len(arrays["tree_nodes"])
        self._kept = []
        order = _gate_order(code.state_panel)
        both = np.concatenate([order, GATES + order])
        weights.words = self._floats(arrays["words"], (2 * WORD_BUCKETS,))
        weights.elements = self._floats(arrays["elements"], (ELEMENT_BUCKETS, ELEMENT_ROW))
        weights.score_biases = self._floats(arrays["score_biases"], (SCORES,))
        weights.page_factors = self._floats(arrays["page_factors"], (OF_PAGE,))
        weights.page_offsets = self._floats(arrays["page_offsets"], (OF_PAGE,))
        weights.page_dense = self._floats(arrays["page_dense"], (OF_PAGE, DENSE))
        weights.factors = self._floats(_padded(arrays["factors"]), (INPUTS,))
        weights.offsets = self._floats(_padded(arrays["offsets"]), (INPUTS,))
        none = np.clip(arrays["offsets"], -INPUT_LIMIT, INPUT_LIMIT)  # what an input that is 0 is standardised to
        weights.none = self._floats(_padded(none), (INPUTS,))
        weights.dense = self._floats(_panels(_padded(arrays["dense"]), code.dense_panel), (INPUTS * DENSE,))
        weights.dense_bias = self._floats(arrays["dense_bias"] + none @ arrays["dense"], (DENSE,))
        inputs = np.concatenate(list(arrays["inputs"])).T  # of both directions
        weights.inputs = self._floats(_panels(inputs[:, both], code.gate_panel), (DENSE * 2 * GATES,))
        biases = arrays["gate_biases"].reshape(2, 2, GATES).sum(1).ravel()  # of inputs and of recurrence
        weights.gate_biases = self._floats(biases[both], (2 * GATES,))
        recurrent = [_panels(each.T[:, order], 4 * code.state_panel) for each in arrays["recurrent"]]
        weights.recurrent = self._floats(np.concatenate(recurrent), (2 * HIDDEN * GATES,))
        weights.output_states = self._floats(arrays["output_states"].T, (OUTPUTS, 2 * HIDDEN))
        weights.output_dense = self._floats(arrays["output_dense"].T, (OUTPUTS, DENSE))
        weights.output_page = self._floats(arrays["output_page"], (4 * HIDDEN, OUTPUTS))
        weights.output_bias = self._floats(arrays["output_bias"], (OUTPUTS,))
        weights.kinds = self._floats(arrays["kinds"], (4 * HIDDEN, KINDS))
        weights.kind_bias = self._floats(arrays["kind_bias"], (KINDS,))
        weights.word_weights = <const double *>self._aligned(arrays["word_weights"], np.float64, (256,))
        nodes = arrays["nodes"]
        if not ((0 <= nodes["column"]) & (nodes["column"] < COLUMNS)).all():
            raise ValueError("a tree that reads a column which no block has")
        weights.nodes = <const Node *>self._aligned(nodes, nodes.dtype, (arrays["tree_nodes"].sum(),))
        weights.tree_nodes = <const int32_t *>self._aligned(arrays["tree_nodes"], np.int32, (trees,))
        weights.leaves = self._floats(arrays["leaves"], (trees, LEAVES))
        weights.trees, weights.network_share = trees, network_share
        weights.trees_share, weights.offset = trees_share, offset

    def answer(
        self,
        const uint32_t[::1] words not None,
        const uint8_t[::1] word_lengths not None,
        const int32_t[::1] heading not None,
        const int32_t[::1] element not None,
        const int32_t[::1] alike not None,
        const uint8_t[::1] features not None,
        const int32_t[::1] parent not None,
        const uint32_t[::1] tokens not None,
        const uint8_t[::1] token_lengths not None,
        const uint8_t[::1] page not None,
        const uint8_t[::1] links not None,
        const uint8_t[::1] address not None,
    ):
        """Return the probabilities of content and of comments of each block, and of the page's kinds: float32.

        All are NaN where the lengths contradict the words or tokens.

        Raises:
            ValueError: the tensors are not of one page of at least one block.
        """
        cdef int blocks = len(word_lengths), elements = len(parent), each
        cdef Py_ssize_t of_words = 0, of_tokens = 0
        if not (
            blocks and len(heading) == len(element) == len(alike) == blocks and len(token_lengths) == elements
            and len(features) == blocks * BLOCK_COLUMNS and len(links) == blocks * LINK_COLUMNS
            and len(page) == PAGE_COLUMNS and len(address) == ADDRESS_COLUMNS
        ):
            raise ValueError("tensors that are not of one page")
        for each in range(blocks):
            of_words += word_lengths[each]
        for each in range(elements):
            of_tokens += token_lengths[each]
        answers = [np.empty(size, np.float32) for size in (blocks, blocks, KINDS)]
        if of_words != len(words) or of_tokens != len(tokens):
            for values in answers:
                values.fill(np.nan)
            return answers
        cdef float[::1] content = answers[0], comments = answers[1], kinds = answers[2]
        cdef Answer answer = Answer(&content[0], &comments[0], &kinds[0])
        cdef Page read = Page(
            blocks, elements, len(words), len(tokens), &words[0], &tokens[0], &word_lengths[0], &token_lengths[0],
            &features[0], &links[0], &page[0], &address[0], &heading[0], &element[0], &alike[0], &parent[0],
        )
        cdef char *memory = <char *>malloc(space_of(blocks, elements) + CACHE_LINE)
        if memory is NULL:
            raise MemoryError
        with nogil:
            self._code.answer(&self._weights, &read, memory + _gap(<uintptr_t>memory), &answer)
        free(memory)
        return answers

    cdef const float *_floats(self, values, tuple shape) except NULL:
        if not np.isfinite(values).all():  # zeros are passed over, also before these
            raise ValueError("weights that are not finite")
        return <const float *>self._aligned(values, np.float32, shape)

    cdef uintptr_t _aligned(self, values, dtype, tuple shape) except 0:
        """Keep an array at the begin of a cache line, and return its address."""
        if values.dtype != dtype or values.shape != shape:
            raise ValueError(f"weights of {values.dtype} {values.shape} instead of {dtype} {shape}")
        room = np.empty(values.nbytes + CACHE_LINE, np.uint8)
        cdef uintptr_t address = room.ctypes.data
        cdef Py_ssize_t gap = _gap(address)
        room[gap : gap + values.nbytes] = np.frombuffer(values.tobytes(), np.uint8)
        self._kept.append(room)
        return address + gap


cdef inline Py_ssize_t _gap(uintptr_t address) noexcept nogil:
    """Return the bytes up to the begin of a cache line."""
    return -address % CACHE_LINE


def _gate_order(panel):
    """Return ONNX's places of the gates as the code reads them: i, o, f and c of so many states, then of the next."""
    places = np.arange(GATES).reshape(4, HIDDEN // panel, panel)
    return places.transpose(1, 0, 2).ravel()


def _panels(matrix, columns):
    """Return a matrix cut into panels of so many columns, one after the other."""
    return matrix.reshape(len(matrix), -1, columns).transpose(1, 0, 2).ravel()


def _padded(inputs):
    """Return what belongs to each input, followed by zeros up to INPUTS."""
    return np.concatenate([inputs, np.zeros((INPUTS - len(inputs), *inputs.shape[1:]), inputs.dtype)])
