"""The tags of a page, read from its bytes."""

from libc.string cimport memchr, strcmp

from dehusk.inference.native.ascii cimport is_letter, is_space, lower


cdef enum:
    MOST_ATTRIBUTES = 1000
    HARMLESS_ENDS = 100  # end tags with attributes, at each of which a text may be copied


cdef struct Token:  # a tag; or a comment or the like, whose name is empty
    size_t start
    size_t name
    size_t name_end
    size_t kept  # the end of its first MAX_ATTRIBUTES attributes
    size_t attributes
    size_t end
    bint is_end
    bint is_self_closed


cdef inline bint next_tag(const unsigned char *text, size_t size, size_t position, Token *token) noexcept:
    """Find the next tag, comment or the like from a position on, if there is one."""
    cdef const unsigned char *found
    while position < size:
        found = <const unsigned char *> memchr(text + position, c"<", size - position)
        if found == NULL or found + 1 == text + size:
            return False
        position = found - text
        token.start, token.name, token.name_end = position, 0, 0
        if is_letter(text[position + 1]):
            token.is_end = False
            _read_tag(text, size, position + 1, token)
            return True
        if text[position + 1] == c"/" and position + 2 < size and is_letter(text[position + 2]):
            token.is_end = True
            _read_tag(text, size, position + 2, token)
            return True
        if text[position + 1] == c"!" and position + 3 < size and (
            text[position + 2] == c"-" and text[position + 3] == c"-"
        ):
            token.end = _end_of_comment(text, size, position + 4)
            return True
        if text[position + 1] == c"!" or text[position + 1] == c"?" or text[position + 1] == c"/":
            token.end = _find(text, size, position + 2, c">")
            return True
        position += 1
    return False


cdef inline void _read_tag(const unsigned char *text, size_t size, size_t position, Token *token) noexcept:
    """Read a tag from its name on."""
    cdef size_t begin
    token.name = position
    while position < size and not _ends_name(text[position]):
        position += 1
    token.name_end = token.kept = position
    token.attributes = 0
    while True:
        begin = begin_of_attribute(text, size, position)
        if begin == size or text[begin] == c">":
            token.end = min(begin + 1, size)
            # The slash of `<a b=/>` is a value.
            token.is_self_closed = position < begin < size and text[begin - 1] == c"/"
            return
        position = end_of_attribute(text, size, begin)
        token.attributes += 1
        if token.attributes <= MOST_ATTRIBUTES:
            token.kept = position


cdef inline size_t begin_of_attribute(const unsigned char *text, size_t size, size_t position) noexcept:
    """Return where the next attribute begins, or the tag ends."""
    while position < size and (is_space(text[position]) or text[position] == c"/"):
        position += 1
    return position


cdef inline size_t end_of_name(const unsigned char *text, size_t size, size_t position) noexcept:
    """Return the end of an attribute's name that begins at a position."""
    position += 1
    while position < size and not _ends_name(text[position]) and text[position] != c"=":
        position += 1
    return position


cdef inline size_t end_of_attribute(const unsigned char *text, size_t size, size_t position) noexcept:
    cdef size_t end
    position = end_of_name(text, size, position)
    end = _skip_space(text, size, position)
    if end == size or text[end] != c"=":
        return position
    position = _skip_space(text, size, end + 1)
    if position < size and (text[position] == c'"' or text[position] == c"'"):
        return min(_find(text, size, position + 1, text[position]) + 1, size)
    while position < size and not is_space(text[position]) and text[position] != c">":
        position += 1
    return position


cdef inline size_t _end_of_comment(const unsigned char *text, size_t size, size_t position) noexcept:
    """Return the end of a comment whose text begins at a position."""
    if position < size and text[position] == c">":
        return position + 1
    if position + 1 < size and text[position] == c"-" and text[position + 1] == c">":
        return position + 2
    while True:
        position = _find(text, size, position, c"-")
        if position + 2 >= size:
            return size
        if text[position + 1] == c"-":
            if text[position + 2] == c">":
                return position + 3
            if text[position + 2] == c"!" and position + 3 < size and text[position + 3] == c">":
                return position + 4
        position += 1


cdef inline size_t end_of_raw_text(
    const unsigned char *text, size_t size, const unsigned char *tag, size_t position
) noexcept:
    """Return the end of the text of a `<script>`, `<style>` …, in which tags are text.

    A `<script>` in the `<!-- -->` of a script has an end tag of its own (HTML Standard, from section 13.2.5.18).
    """
    cdef bint is_script = strcmp(<const char *> tag, "script") == 0, is_nested = False
    cdef size_t end_of_escaped = position
    while True:
        position = _find(text, size, position, c"<")
        if position + 2 >= size:
            return size
        if position >= end_of_escaped:
            is_nested = False
        if text[position + 1] == c"/":
            if _is_name(text, size, position + 2, tag):
                if not is_nested:
                    return position
                is_nested = False
        elif position < end_of_escaped:
            is_nested = is_nested or _is_name(text, size, position + 1, tag)
        elif is_script and text[position + 1] == c"!":
            end_of_escaped = _end_of_escaped(text, size, position)
        position += 1


cdef inline bint _is_name(
    const unsigned char *text, size_t size, size_t position, const unsigned char *tag
) noexcept:
    """Return True if a tag's name, in either case, stands at a position."""
    while tag[0] and position < size and lower(text[position]) == tag[0]:
        position += 1
        tag += 1
    return not tag[0] and position < size and _ends_name(text[position])


cdef inline size_t _end_of_escaped(const unsigned char *text, size_t size, size_t position) noexcept:
    """Return the end of a script's `<!-- -->` that may begin at a position, or the position."""
    if position + 3 >= size or text[position + 2] != c"-" or text[position + 3] != c"-":
        return position
    position += 4
    while True:
        position = _find(text, size, position, c">")
        if position == size or (text[position - 1] == c"-" and text[position - 2] == c"-"):
            return position
        position += 1


cdef inline size_t _find(const unsigned char *text, size_t size, size_t position, unsigned char byte) noexcept:
    """Return where a byte is found from a position on, or the size."""
    if position >= size:
        return size
    cdef const unsigned char *found = <const unsigned char *> memchr(text + position, byte, size - position)
    return size if found == NULL else <size_t> (found - text)


cdef inline size_t _skip_space(const unsigned char *text, size_t size, size_t position) noexcept:
    while position < size and is_space(text[position]):
        position += 1
    return position


cdef inline bint _ends_name(unsigned char byte) noexcept nogil:
    return byte <= c">" and (byte == c"/" or byte == c">" or is_space(byte))
