# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""fastText's compressed model of languages (Joulin et al. 2016), without fastText: its tables in few bytes.

Sums are made of the same numbers in the same order as there, so that probabilities are the same to the last bit.
"""

from struct import error, unpack_from

from libc.math cimport expf, log
from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcmp, memset

import numpy as np

from dehusk.inference.native.buffer cimport Buffer, append, free

cdef enum:
    DIMENSIONS = 16
    PARTS = 8  # of a vector, two numbers each, that one byte stands for
    CODES = 256
    MIN_NGRAM = 2  # characters
    MAX_NGRAM = 4
    LOW_BITS = 5  # of an n-gram, by which those of one place are told apart
    MAX_ANSWERS = 256

cdef int HEADER = 92  # bytes
cdef tuple _KNOWN = (793712314, 12)  # mark and version of a file
cdef object _LABEL = b"__label__"
cdef const char *_END = b"</s>"  # the word that each line ends with
cdef const char *_MARK = b"__label__"


cdef struct Answers:  # the likeliest labels, the likeliest first
    int count
    int most
    int32_t[MAX_ANSWERS] labels
    float[MAX_ANSWERS] scores


cdef class LanguageModel:
    """The model in a file of fastText: supervised, hierarchical softmax, n-grams of two to four characters, pruned."""

    cdef readonly tuple labels
    cdef int32_t _words, _buckets
    cdef uint32_t _slots_mask
    cdef const uint8_t[::1] _letters  # of all words
    cdef int32_t[::1] _ends  # of the words in these
    cdef int32_t[::1] _slots  # words by their hashes, -1 where there is none
    cdef uint16_t[::1] _places  # where the n-grams with the same high bits begin
    cdef uint8_t[::1] _low  # bits of the n-grams
    cdef uint16_t[::1] _rows  # of the n-grams, after those of the words
    cdef const uint8_t[::1] _codes, _norm_codes
    cdef float[::1] _centroids, _norms, _output
    cdef int32_t[::1] _left, _right  # of the nodes of the tree over the labels, which are its first ones

    def __init__(self, bytes data not None):
        """Read a file.

        Raises:
            ValueError: it holds no such model.
        """
        try:
            self._read(data)
        except (error, IndexError) as cause:
            raise ValueError(f"the model ends early: {cause}") from cause

    def _read(self, bytes data):
        (
            mark, version, dimensions, _, _, _, _, word_ngrams, loss, kind, buckets, least, most, _, _,
            entries, words, labels, _, pruned,
        ) = unpack_from("<14id3i2q", data)
        shape = dimensions, word_ngrams, loss, kind, least, most
        if (mark, version) != _KNOWN or shape != (DIMENSIONS, 1, 1, 3, MIN_NGRAM, MAX_NGRAM) or (
            not 0 < pruned < 1 << 16 or entries != words + labels or not 1 < labels <= MAX_ANSWERS
            or not 0 < buckets <= 1 << 21
        ):
            raise ValueError("the model is none of languages that fastText compressed")
        self._words, self._buckets = words, buckets
        names, counts, position = _read_entries(data, entries)
        self._index_words(names[:words])
        self.labels = tuple([name.removeprefix(_LABEL).decode() for name in names[words:]])
        self._left, self._right = _tree_of(counts[words:])
        pairs = _array(data, np.int32, 2 * pruned, position).reshape(-1, 2)
        self._index_ngrams(pairs)
        position += 8 * pruned
        self._read_vectors(data, position, words + pruned, labels)

    def _read_vectors(self, data, position, rows, labels):
        """Read the vectors of words and n-grams, in codes, and those of the inner nodes of the tree."""
        is_coded, has_norms, count, dimensions, size = unpack_from("<??qqi", data, position)
        if not (is_coded and has_norms) or (count, dimensions, size) != (rows, DIMENSIONS, rows * PARTS):
            raise ValueError("the model has vectors of another size")
        position += 22
        self._codes = _array(data, np.uint8, size, position)
        position += size + 16
        self._centroids = _array(data, np.float32, DIMENSIONS * CODES, position)
        position += 4 * DIMENSIONS * CODES
        self._norm_codes = _array(data, np.uint8, rows, position)
        position += rows + 16
        self._norms = _array(data, np.float32, CODES, position)
        position += 4 * CODES
        if unpack_from("<?qq", data, position) != (False, labels, DIMENSIONS):
            raise ValueError("the model has an output of another size")
        self._output = _array(data, np.float32, labels * DIMENSIONS, position + 17)

    def _index_words(self, list names):
        cdef uint32_t slot
        cdef int32_t number
        cdef bytes name
        self._letters = np.frombuffer(b"".join(names), np.uint8)
        self._ends = np.cumsum([0, *map(len, names)], dtype=np.int32)
        self._slots = np.full(1 << (2 * len(names)).bit_length(), -1, np.int32)
        self._slots_mask = len(self._slots) - 1
        for number, name in enumerate(names):
            slot = _hash(name, len(name)) & self._slots_mask
            while self._slots[slot] >= 0:
                slot = slot + 1 & self._slots_mask
            self._slots[slot] = number

    def _index_ngrams(self, pairs):
        ordered = pairs[np.argsort(pairs[:, 0], kind="stable")]
        if not (ordered[:, 1] >= 0).all() or not (ordered[:, 1] < len(pairs)).all():
            raise ValueError("the model has n-grams without vectors")
        edges = np.arange((self._buckets >> LOW_BITS) + 2) << LOW_BITS
        self._places = np.searchsorted(ordered[:, 0], edges).astype(np.uint16)
        self._low = (ordered[:, 0] & (1 << LOW_BITS) - 1).astype(np.uint8)
        self._rows = ordered[:, 1].astype(np.uint16)

    def likeliest(self, str text not None, int count) -> list:
        """Return the likeliest labels of a line and their probabilities, the likeliest first."""
        cdef bytes line = text.encode("utf-8", "replace")
        cdef float[DIMENSIONS] hidden
        cdef Answers answers
        cdef Buffer word = Buffer(NULL, 0, 0)
        cdef int each
        answers.count, answers.most = 0, min(max(count, 1), MAX_ANSWERS)
        try:
            self._sum_line(line, len(line), &word, hidden)
        finally:
            free(&word)
        with nogil:
            self._descend(len(self._left) - 1, 0.0, hidden, &answers)
        return [(self.labels[answers.labels[each]], expf(answers.scores[each])) for each in range(answers.count)]

    cdef int _sum_line(self, const uint8_t *line, size_t length, Buffer *word, float *hidden) except -1:
        """Set the mean of the vectors of the words of a line and of the n-grams in them."""
        cdef size_t start, end = 0
        cdef int added = 0, each
        cdef float share
        memset(hidden, 0, DIMENSIONS * sizeof(float))
        while end < length:
            start = end
            while end < length and not _is_separator(line[end]):
                end += 1
            if end > start:
                if end - start == 4 and not memcmp(line + start, _END, 4):
                    break
                if end - start < 9 or memcmp(line + start, _MARK, 9):
                    added += self._add_word(line + start, end - start, word, hidden)
            end += 1
        added += self._add_known(<const uint8_t *> _END, 4, hidden)
        share = 1.0 / added if added else 0.0
        for each in range(DIMENSIONS):
            hidden[each] *= share
        return 0

    cdef int _add_word(self, const uint8_t *letters, size_t length, Buffer *word, float *hidden) except -1:
        """Add the vector of a word, if it is a known one, and those of its n-grams; return their number."""
        cdef int added = self._add_known(letters, length, hidden)
        word.used = 0
        append(word, b"<", 1)
        append(word, letters, length)
        append(word, b">", 1)
        return added + self._add_ngrams(<const uint8_t *> word.data, word.used, hidden)

    cdef int _add_known(self, const uint8_t *letters, size_t length, float *hidden) noexcept nogil:
        cdef uint32_t slot = _hash(letters, length) & self._slots_mask
        cdef int32_t number = self._slots[slot], begin
        while number >= 0:
            begin = self._ends[number]
            if <size_t> (self._ends[number + 1] - begin) == length and not memcmp(&self._letters[begin], letters, length):
                self._add_row(number, hidden)
                return 1
            slot = slot + 1 & self._slots_mask
            number = self._slots[slot]
        return 0

    cdef int _add_ngrams(self, const uint8_t *word, size_t length, float *hidden) noexcept nogil:
        """Add the vectors of the n-grams of a word between its marks; return their number."""
        cdef size_t start, end
        cdef uint32_t hashed
        cdef int characters, added = 0
        for start in range(length):
            if _continues(word[start]):
                continue
            end, hashed, characters = start, _START, 0
            while end < length and characters < MAX_NGRAM:
                hashed = _with(hashed, word[end])
                end += 1
                while end < length and _continues(word[end]):
                    hashed = _with(hashed, word[end])
                    end += 1
                characters += 1
                if characters >= MIN_NGRAM:
                    added += self._add_ngram(hashed % <uint32_t> self._buckets, hidden)
        return added

    cdef int _add_ngram(self, uint32_t ngram, float *hidden) noexcept nogil:
        cdef uint32_t place = ngram >> LOW_BITS
        cdef uint8_t low = ngram & (1 << LOW_BITS) - 1
        cdef int each
        for each in range(self._places[place], self._places[place + 1]):
            if self._low[each] == low:
                self._add_row(self._words + self._rows[each], hidden)
                return 1
        return 0

    cdef void _add_row(self, int32_t row, float *hidden) noexcept nogil:
        """Add a vector: its norm times the parts that its codes stand for."""
        cdef const uint8_t *codes = &self._codes[row * PARTS]
        cdef float norm = self._norms[self._norm_codes[row]]
        cdef const float *part
        cdef int each
        for each in range(PARTS):
            part = &self._centroids[2 * (each * CODES + codes[each])]
            hidden[2 * each] += norm * part[0]
            hidden[2 * each + 1] += norm * part[1]

    cdef void _descend(self, int32_t node, float score, const float *hidden, Answers *answers) noexcept nogil:
        """Find the labels below a node whose own logarithm of probability is known; less likely ones are left out."""
        cdef int32_t labels = (len(self._left) + 1) // 2
        cdef const float *vector
        cdef float right = 0, odds
        cdef int each
        if score < _logarithm(0) or answers.count == answers.most and score < answers.scores[answers.count - 1]:
            return
        if node < labels:
            _take(answers, node, score)
            return
        vector = &self._output[(node - labels) * DIMENSIONS]
        for each in range(DIMENSIONS):
            right += vector[each] * hidden[each]
        odds = 1 + expf(-right)  # a float, as in fastText
        right = 1.0 / odds
        self._descend(self._left[node], score + _logarithm(1.0 - right), hidden, answers)
        self._descend(self._right[node], score + _logarithm(right), hidden, answers)


cdef inline float _logarithm(float probability) noexcept nogil:
    return log(probability + 1e-5)


cdef void _take(Answers *answers, int32_t label, float score) noexcept nogil:
    """Insert an answer in order, and drop the least likely of too many."""
    cdef int place = answers.count if answers.count < answers.most else answers.most - 1
    while place and answers.scores[place - 1] < score:
        answers.scores[place], answers.labels[place] = answers.scores[place - 1], answers.labels[place - 1]
        place -= 1
    answers.scores[place], answers.labels[place] = score, label
    answers.count = min(answers.count + 1, answers.most)


cdef uint32_t _START = 2166136261


cdef inline uint32_t _with(uint32_t state, uint8_t byte) noexcept nogil:
    """Return the state of FNV-1a after a byte, which fastText takes for a signed one."""
    return (state ^ <uint32_t> <int8_t> byte) * <uint32_t> 16777619


cdef uint32_t _hash(const uint8_t *letters, size_t length) noexcept nogil:
    cdef uint32_t state = _START
    cdef size_t each
    for each in range(length):
        state = _with(state, letters[each])
    return state


cdef inline bint _continues(uint8_t byte) noexcept nogil:
    """Return True for a byte that a character of UTF-8 does not begin with."""
    return byte & 0xC0 == 0x80


cdef inline bint _is_separator(uint8_t byte) noexcept nogil:
    return byte == c" " or byte == 0 or c"\t" <= byte <= c"\r"


def _array(data, kind, count, position):
    """Return a copy of numbers in a file, which may stand at any of its bytes."""
    if position + count * np.dtype(kind).itemsize > len(data):
        raise IndexError(f"{count} numbers at {position} of {len(data)} bytes")
    return np.frombuffer(data, kind, count, position).copy()


def _read_entries(bytes data, int entries):
    """Return the words and labels of a model, how often each was in its texts, and the position after them."""
    names, counts, position = [], [], HEADER
    for _ in range(entries):
        end = data.find(b"\0", position)
        if end < 0:
            raise IndexError(f"{len(names)} of {entries} words")
        names.append(data[position:end])
        counts.append(unpack_from("<q", data, end + 1)[0])
        position = end + 10
    return names, counts, position


def _tree_of(list counts):
    """Return the left and the right child of each node of Huffman's tree over labels, which come by their counts."""
    labels, nodes = len(counts), 2 * len(counts) - 1
    total = counts + [10**15] * (labels - 1)
    left, right = np.full(nodes, -1, np.int32), np.full(nodes, -1, np.int32)
    leaf, inner = labels - 1, labels
    for node in range(labels, nodes):
        least = []
        for _ in range(2):
            if leaf >= 0 and total[leaf] < total[inner]:
                least.append(leaf)
                leaf -= 1
            else:
                least.append(inner)
                inner += 1
        left[node], right[node] = least
        total[node] = total[least[0]] + total[least[1]]
    return left, right
