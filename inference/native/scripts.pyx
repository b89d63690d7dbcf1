# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The part of a text that tells its language, and the scripts of the letters in it."""

from cpython.unicode cimport PyUnicode_FromKindAndData
from libc.stdint cimport uint32_t
from libc.string cimport memset

from dehusk.inference.native.tokens cimport Text, text_of
from dehusk.inference.native.unicode cimport (
    PyUnicode_READ, Py_UNICODE_ISALNUM, Py_UNICODE_ISALPHA, Py_UNICODE_ISSPACE, Py_UNICODE_ISUPPER,
)

cdef enum:
    SAMPLE = 300
    SEARCHED = 5000
    FEW = 50  # letters
    RANGES = 34
    MAX_SCRIPTS = 32

SAMPLE_CHARACTERS = SAMPLE
"""Most characters of a sample."""
SEARCHED_CHARACTERS = SEARCHED
"""Characters of a text that a sample is taken from."""
SCRIPTS = (
    "", "greek", "armenian", "hebrew", "thaana", "gurmukhi", "gujarati", "oriya", "tamil", "telugu", "kannada",
    "malayalam", "sinhala", "thai", "lao", "tibetan", "burmese", "georgian", "hangul", "ethiopic", "cherokee",
    "khmer", "kana", "han",
)
"""Scripts that few languages are written in; the first one stands for all others."""
cdef dict _numbers = {name: number for number, name in enumerate(SCRIPTS)}
cdef uint32_t[RANGES] _first, _last, _number
_RANGES = [
    (0x0370, 0x03FF, "greek"), (0x0530, 0x058F, "armenian"), (0x0591, 0x05F4, "hebrew"),
    (0x0780, 0x07B1, "thaana"), (0x0A01, 0x0A76, "gurmukhi"), (0x0A81, 0x0AF9, "gujarati"),
    (0x0B01, 0x0B77, "oriya"), (0x0B82, 0x0BFA, "tamil"), (0x0C00, 0x0C7F, "telugu"),
    (0x0C80, 0x0CF3, "kannada"), (0x0D00, 0x0D7F, "malayalam"), (0x0D81, 0x0DF4, "sinhala"),
    (0x0E01, 0x0E4E, "thai"), (0x0E81, 0x0EDF, "lao"), (0x0F40, 0x0FBC, "tibetan"),
    (0x1000, 0x109F, "burmese"), (0x10A0, 0x10FF, "georgian"), (0x1100, 0x11FF, "hangul"),
    (0x1200, 0x139F, "ethiopic"), (0x13A0, 0x13FD, "cherokee"), (0x1780, 0x17D3, "khmer"),
    (0x1C90, 0x1CBF, "georgian"), (0x1F00, 0x1FFF, "greek"), (0x2D00, 0x2D2D, "georgian"),
    (0x2D80, 0x2DDE, "ethiopic"), (0x3041, 0x30FF, "kana"), (0x3131, 0x318E, "hangul"),
    (0x31F0, 0x31FF, "kana"), (0x3400, 0x4DBF, "han"), (0x4E00, 0x9FFF, "han"), (0xAC00, 0xD7A3, "hangul"),
    (0xF900, 0xFAFF, "han"), (0xFF66, 0xFF9D, "kana"), (0x20000, 0x3FFFF, "han"),
]
for _each, (_one, _other, _name) in enumerate(_RANGES):
    _first[_each], _last[_each], _number[_each] = _one, _other, _numbers[_name]


cdef struct Sample:
    uint32_t[SAMPLE] characters
    Py_ssize_t used
    Py_ssize_t letters
    Py_ssize_t capitals
    Py_ssize_t[MAX_SCRIPTS] scripts  # letters of each


def sample_of(str text not None) -> tuple:
    """Return a sample of a text, the capitals among its letters, and its letters by script, as in `SCRIPTS`.

    The sample has the first parts between white space of which two thirds are letters and marks on letters, but
    no addresses: numbers, formulas, drawings and most code tell no language. If that leaves fewer than 50
    letters, and the beginning of the text has more, it is the beginning. A lone surrogate is a question mark.
    """
    cdef Sample words, beginning
    cdef Text read = text_of(text)
    cdef bint is_short
    with nogil:
        _take(&read, SEARCHED, False, &words)
        is_short = words.letters < FEW
        if is_short:
            _take(&read, SAMPLE, True, &beginning)
    if is_short and beginning.letters > words.letters:
        words = beginning
    scripts = tuple([words.scripts[script] for script in range(len(SCRIPTS))])
    return PyUnicode_FromKindAndData(4, words.characters, words.used), words.capitals, scripts


cdef void _take(Text *text, Py_ssize_t searched, bint is_whole, Sample *sample) noexcept nogil:
    """Take the words of a text, or its beginning as a whole."""
    cdef Py_ssize_t position = 0, length = min(text.length, searched)
    cdef Py_ssize_t start, letters
    cdef uint32_t character
    cdef bint is_address
    sample.used = 0
    while position < length and sample.used < SAMPLE - 1:
        start, letters, is_address = sample.used, 0, False
        if start:
            sample.characters[sample.used] = c" "
            sample.used += 1
        while position < length and sample.used < SAMPLE:
            character = PyUnicode_READ(text.kind, text.data, position)
            position += 1
            if Py_UNICODE_ISSPACE(character):
                break
            letters += _is_letter(character)
            if character == c"/" and sample.used > start + 1:
                is_address |= sample.characters[sample.used - 1] == c"/"
            sample.characters[sample.used] = c"?" if 0xD800 <= character < 0xE000 else character
            sample.used += 1
        if not is_whole and (is_address or 3 * letters < 2 * (sample.used - start - (start > 0))):
            sample.used = start
        elif sample.used == start + (start > 0):
            sample.used = start
    _count(sample)


cdef void _count(Sample *sample) noexcept nogil:
    """Count the letters of a sample."""
    cdef Py_ssize_t position
    cdef uint32_t character
    sample.letters = sample.capitals = 0
    memset(sample.scripts, 0, sizeof(sample.scripts))
    for position in range(sample.used):
        character = sample.characters[position]
        if _is_letter(character):
            sample.letters += 1
            sample.capitals += Py_UNICODE_ISUPPER(character)
            sample.scripts[_script(character)] += 1


cdef inline bint _is_letter(uint32_t character) noexcept nogil:
    """Return True for a letter, and for a mark on one."""
    if character < 128:
        return c"a" <= character <= c"z" or c"A" <= character <= c"Z"
    if Py_UNICODE_ISALPHA(character):
        return True
    return (
        0x300 <= character < 0xD800
        and not 0x2000 <= character < 0x2C00
        and not 0x3000 <= character < 0x3040
        and not Py_UNICODE_ISALNUM(character)
        and not Py_UNICODE_ISSPACE(character)
    )


cdef inline int _script(uint32_t character) noexcept nogil:
    """Return the number of a letter's script in `SCRIPTS`."""
    cdef int each
    for each in range(RANGES):
        if character < _first[each]:
            return 0
        if character <= _last[each]:
            return _number[each]
    return 0
