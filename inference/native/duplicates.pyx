# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The keys of duplicates of a text, in one pass: content hash, simhash and MinHash."""

from hashlib import blake2b
from unicodedata import normalize

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from dehusk.inference.native.hashing cimport fnv, mixed
from dehusk.inference.native.tokens cimport Text, text_of, writes_no_spaces
from dehusk.inference.native.unicode cimport Py_UNICODE_ISALNUM, Py_UNICODE_ISSPACE, Py_UNICODE_TOLOWER

cdef extern from *:
    """
    /* GCC compiles this a second time for processors with AVX2, and the loader picks: a third of the time. */
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    __attribute__((target_clones("avx2", "default"), optimize("O3")))
    #endif
    static void lower_minima(
        uint32_t *minima, const uint32_t *factors, const uint32_t *terms, const uint64_t *shingles, int count
    ) {
        for (int shingle = 0; shingle < count; shingle++) {
            const uint32_t hashed = (uint32_t) (shingles[shingle] >> 32);
            for (int each = 0; each < 128; each++) {
                const uint32_t permuted = factors[each] * hashed + terms[each];
                minima[each] = permuted < minima[each] ? permuted : minima[each];
            }
        }
    }
    """
    void _lower_minima "lower_minima"(
        uint32_t *minima, const uint32_t *factors, const uint32_t *terms, const uint64_t *shingles, int count
    ) noexcept nogil

ctypedef fused Character:
    uint8_t
    uint16_t
    uint32_t

cdef enum:
    BITS = 64
    PLANES = 32
    SHINGLE = 3  # words
    PENDING = 256  # shingles
    PERMUTATIONS = 128
    FOLDED = 1 << 14  # bytes
    CACHED = 1 << 16  # characters
    DIGEST = 16  # bytes

cdef enum:  # in a character's properties, above the character in lower case
    SPACE = 1 << 24
    LETTER = 1 << 25  # of a word
    WORD = 1 << 26  # of a script without spaces: a word of its own
    COMPOSED = 1 << 27  # in NFC after and before any other character that is
    KNOWN = 1 << 28
    LOWERED = (1 << 24) - 1

cdef uint64_t _START = 0xCBF29CE484222325
cdef uint32_t[CACHED] _properties
"""The properties of the characters seen so far."""
cdef uint32_t[PERMUTATIONS] _factors, _terms
for _each in range(PERMUTATIONS):
    _factors[_each] = <uint32_t> mixed(2 * _each + 1) | 1
    _terms[_each] = <uint32_t> mixed(2 * _each + 2)
cdef uint32_t[24][2] _COMPOSED = [
    [0x0000, 0x02FF], [0x0388, 0x0482], [0x048A, 0x0530], [0x0531, 0x058F], [0x05D0, 0x05EA],
    [0x0621, 0x064A], [0x0660, 0x066F], [0x0671, 0x06D3], [0x0E01, 0x0E37], [0x10A0, 0x10FF],
    [0x1E00, 0x1EFF], [0x2002, 0x205F], [0x20A0, 0x20CF], [0x2190, 0x2328], [0x2500, 0x2ADB],
    [0x3000, 0x3029], [0x3041, 0x3098], [0x309D, 0x30FF], [0x3400, 0x4DBF], [0x4E00, 0x9FFF],
    [0xAC00, 0xDFFF], [0xFE00, 0xFE0F], [0xFF01, 0xFFFF], [0x1F000, 0x1FAFF],
]
"""Ranges of characters that neither compose nor decompose nor move; there are more, which are rarer."""


cdef struct Reading:  # of a text
    Py_ssize_t position
    bint composed  # all characters so far
    size_t used  # bytes of `folded`
    bint has_text
    bint is_parted  # by white space that is not written yet
    uint64_t word  # the state of its hash; `_START` between words
    uint64_t words
    uint64_t[2] last  # words, hashed, the last one first
    uint64_t shingles
    int pending
    bint with_simhash
    bint with_minhash
    uint64_t[PENDING] hashes  # of the last shingles, which are not counted yet
    uint64_t[PLANES] planes  # of shingles by the bits of their hashes: plane k has the k-th digit of all 64
    uint32_t[PERMUTATIONS] minima
    uint8_t[FOLDED] folded  # the text in UTF-8, its white space folded


def keys_of(str text not None, bint with_simhash, bint with_minhash) -> tuple:
    """Return the content hash of a text in hexadecimal digits, its simhash, and its MinHash in 512 bytes.

    The first is None without any text, the others without any word or where they are not asked for. Words are
    runs of letters, digits and marks in lower case; in scripts without spaces, each character is a word. Both
    are of the runs of three words; a text of fewer words is one run. The simhash is the majority, bit by bit, of
    their hashes; the MinHash has the least of them under each of 128 permutations, four bytes each, little-endian.
    """
    cdef Reading reading
    begin(&reading)
    reading.with_simhash, reading.with_minhash = with_simhash, with_minhash
    digest = _read(text, &reading)
    if not reading.composed:
        normal = normalize("NFC", text)
        if normal != text:
            digest = _content_of(normal)
    with nogil:
        _end(&reading)
    return (
        digest.hexdigest() if reading.has_text else None,
        _majority(&reading) if with_simhash and reading.words else None,
        _signature(&reading) if with_minhash and reading.words else None,
    )


def are_composed(str text not None) -> bool:
    """Return True if all characters of a text are known to be in NFC, whatever stands beside them."""
    return all([_properties_of(ord(character)) & COMPOSED for character in text])


cdef void begin(Reading *reading) noexcept nogil:
    memset(reading, 0, sizeof(Reading) - FOLDED)
    memset(reading.minima, 0xFF, sizeof(reading.minima))
    reading.word, reading.composed = _START, True


cdef object _content_of(str text):
    """Return the digest of a text in NFC."""
    cdef Reading reading
    begin(&reading)
    return _read(text, &reading)


cdef object _read(str text, Reading *reading):
    """Read a text and return the digest of its folded form."""
    cdef Text read = text_of(text)
    digest = blake2b(digest_size=DIGEST)
    while reading.position < read.length:
        with nogil:
            if read.kind == 1:
                _read_on(<const uint8_t *> read.data, read.length, reading)
            elif read.kind == 2:
                _read_on(<const uint16_t *> read.data, read.length, reading)
            else:
                _read_on(<const uint32_t *> read.data, read.length, reading)
        digest.update(PyBytes_FromStringAndSize(<char *> reading.folded, reading.used))
        reading.used = 0
    return digest


cdef void _read_on(const Character *text, Py_ssize_t length, Reading *reading) noexcept nogil:
    """Read characters until there are no more, or no room for their folded form."""
    cdef uint32_t character, properties
    cdef uint64_t word = reading.word
    cdef uint8_t *folded = reading.folded
    cdef uint8_t *end = reading.folded + FOLDED - 8
    cdef Py_ssize_t position = reading.position
    cdef bint is_parted = reading.is_parted
    while position < length and folded < end:
        character = text[position]
        position += 1
        properties = _properties_of(character)
        if properties & SPACE:
            is_parted = True
        else:
            if is_parted:
                folded[0] = c" "
                folded += reading.has_text
                is_parted = False
            reading.has_text = True
            if character < 0x80:
                folded[0] = character
                folded += 1
            else:
                folded = _write(folded, character)
                if not properties & COMPOSED:
                    reading.composed = False
        if properties & LETTER:
            word = fnv(word, properties & LOWERED)
            continue
        if word != _START:
            _add_word(reading, word)
            word = _START
        if properties & WORD:
            _add_word(reading, fnv(_START, character))
    reading.position, reading.word, reading.is_parted = position, word, is_parted
    reading.used = folded - reading.folded


cdef inline uint8_t *_write(uint8_t *at, uint32_t character) noexcept nogil:
    """Write a character beyond ASCII in UTF-8, a surrogate as a question mark."""
    if character < 0x800:
        at[0], at[1] = 0xC0 | character >> 6, 0x80 | character & 0x3F
        return at + 2
    if 0xD800 <= character < 0xE000:
        at[0] = c"?"
        return at + 1
    if character < 0x10000:
        at[0], at[1], at[2] = 0xE0 | character >> 12, 0x80 | character >> 6 & 0x3F, 0x80 | character & 0x3F
        return at + 3
    at[0], at[1] = 0xF0 | character >> 18, 0x80 | character >> 12 & 0x3F
    at[2], at[3] = 0x80 | character >> 6 & 0x3F, 0x80 | character & 0x3F
    return at + 4


cdef inline uint32_t _properties_of(uint32_t character) noexcept nogil:
    """Return the properties of a character; threads that find out at once write the same."""
    if character >= CACHED:
        return _find_properties(character)
    if not _properties[character]:
        _properties[character] = _find_properties(character)
    return _properties[character]


cdef uint32_t _find_properties(uint32_t character) noexcept nogil:
    cdef uint32_t properties = KNOWN | Py_UNICODE_TOLOWER(character)
    if Py_UNICODE_ISSPACE(character):
        properties |= SPACE
    if not _parts(character):
        properties |= WORD if writes_no_spaces(character) else LETTER
    for each in range(sizeof(_COMPOSED) // sizeof(_COMPOSED[0])):
        if _COMPOSED[each][0] <= character <= _COMPOSED[each][1]:
            return properties | COMPOSED
    return properties


cdef bint _parts(uint32_t character) noexcept nogil:
    """Return True if a character parts words: no letter or digit, and no mark on one."""
    if character < 128:
        return not (
            c"a" <= character <= c"z" or c"A" <= character <= c"Z" or c"0" <= character <= c"9"
        )
    if Py_UNICODE_ISALNUM(character):
        return False
    return (
        character < 0x300
        or 0x2000 <= character < 0x2C00
        or 0x3000 <= character < 0x3040
        or 0xFE10 <= character
        or Py_UNICODE_ISSPACE(character)
    )


cdef inline void _add_word(Reading *reading, uint64_t word) noexcept nogil:
    """Take a word, and the run of three that it ends."""
    cdef uint64_t hashed = mixed(word)
    if reading.words >= SHINGLE - 1:
        _add_shingle(reading, mixed(
            reading.last[1] * <uint64_t> 0x9E3779B97F4A7C15
            + reading.last[0] * <uint64_t> 0xC2B2AE3D27D4EB4F
            + hashed
        ))
    reading.last[1], reading.last[0] = reading.last[0], hashed
    reading.words += 1


cdef inline void _add_shingle(Reading *reading, uint64_t hashed) noexcept nogil:
    reading.hashes[reading.pending] = hashed
    reading.pending += 1
    if reading.pending == PENDING:
        _count(reading)


cdef void _count(Reading *reading) noexcept nogil:
    """Count the shingles that are not counted yet."""
    cdef int shingle
    if reading.with_simhash:
        for shingle in range(reading.pending):
            _add(reading.planes, reading.hashes[shingle], 0)
    if reading.with_minhash:
        _lower_minima(reading.minima, _factors, _terms, reading.hashes, reading.pending)
    reading.shingles += reading.pending
    reading.pending = 0


cdef inline void _add(uint64_t *planes, uint64_t ones, int plane) noexcept nogil:
    """Add to 64 numbers at once, digit by digit from that of a plane on."""
    cdef uint64_t carried
    while ones and plane < PLANES:
        carried = planes[plane] & ones
        planes[plane] ^= ones
        ones = carried
        plane += 1


cdef void _end(Reading *reading) noexcept nogil:
    """Take the word that the text ends with; of fewer than three words, take all as one run."""
    if reading.word != _START:
        _add_word(reading, reading.word)
        reading.word = _START
    if 0 < reading.words < SHINGLE:
        _add_shingle(reading, mixed(reading.last[0] ^ reading.last[1]))
    _count(reading)


cdef uint64_t _majority(Reading *reading) noexcept nogil:
    """Return the bits that more than half of all runs have."""
    cdef uint64_t found = 0, count
    cdef int bit, plane
    for bit in range(BITS):
        count = 0
        for plane in range(PLANES):
            count |= (reading.planes[plane] >> bit & 1) << plane
        if 2 * count > reading.shingles:
            found |= <uint64_t> 1 << bit
    return found


cdef bytes _signature(Reading *reading):
    """Return the minima in bytes, the lowest of each first."""
    cdef uint8_t[PERMUTATIONS * 4] written
    cdef int each
    for each in range(PERMUTATIONS * 4):
        written[each] = reading.minima[each // 4] >> 8 * (each % 4) & 0xFF
    return PyBytes_FromStringAndSize(<char *> written, PERMUTATIONS * 4)
