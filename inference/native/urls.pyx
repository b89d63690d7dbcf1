# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Addresses in the form in which they are compared: resolved, in lower case, without names of index files.

They are for features of links, not for requests: schemes but http and https, ports and fragments do not count.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcmp, memcpy, memset

from dehusk.inference.native.ascii cimport hexadecimal, lower
from dehusk.inference.native.buffer cimport Buffer, more
from dehusk.inference.native.hashing cimport fnv

cdef int read_url(Buffer *into, const unsigned char *address, size_t size, Url *base, Url *url) except -1:
    """Read an address, relative to another one."""
    cdef size_t scheme, before = into.used
    memset(url, 0, sizeof(Url))
    while size and address[0] <= c" ":
        address += 1
        size -= 1
    while size and address[size - 1] <= c" ":
        size -= 1
    url.is_fragment = size > 0 and address[0] == c"#"
    scheme = _scheme_of(address, size)
    url.is_web = not scheme or _is_web(address, scheme)
    if url.is_fragment or not url.is_web:
        return 0
    more(into, base.host_size + base.path_size + 2 * size + 2)  # nothing moves while the rest is written
    into.used = before
    _read_rest(into, address + scheme, size - scheme, scheme > 0, base, url)
    return 0


cdef void _read_rest(
    Buffer *into, const unsigned char *address, size_t size, bint is_absolute, Url *base, Url *url
) noexcept nogil:
    """Read what follows the scheme."""
    cdef size_t end = _before(address, size, c"#"), authority
    cdef size_t query = _before(address, end, c"?")
    cdef bint has_host = query >= 2 and address[0] == c"/" and address[1] == c"/"
    url.has_query = query + 1 < end
    url.query = hash_of(<const char *> address + query, end - query, 0) if url.has_query else 0
    url.host = into.used
    if has_host:
        authority = 2 + _before(address + 2, query - 2, c"/")
        _write_host(into, address + 2, authority - 2)
        address += authority
        query -= authority
    elif not is_absolute:
        _write(into, into.data + base.host, base.host_size)
    url.host_size = into.used - url.host
    url.path = into.used
    if not query and not has_host and not is_absolute:
        _write(into, into.data + base.path, base.path_size)
        url.path_size, url.directory_size, url.depth = base.path_size, base.directory_size, base.depth
        return
    if not has_host and not is_absolute and address[0] != c"/":
        _write(into, into.data + base.path, base.directory_size)
    _write_path(into, address, query, url)


cdef void _write_path(Buffer *into, const unsigned char *address, size_t size, Url *url) noexcept nogil:
    """Append the names of a path to what is there of it."""
    cdef size_t start = 0, length, name
    url.directory_size = into.used - url.path
    while start < size:
        length = _before(address + start, size - start, c"/")
        if length == 2 and address[start] == c"." and address[start + 1] == c".":
            while into.used > url.path:
                into.used -= 1
                if into.data[into.used] == c"/":
                    break
        elif length and not (length == 1 and address[start] == c"."):
            name = into.used
            _write(into, "/", 1)
            _write_name(into, address + start, length)
            if start + length == size and not _is_index(into.data + name + 1, into.used - name - 1):
                url.path_size = into.used - url.path
                url.directory_size = name - url.path
                url.depth = _depth_of(into.data + url.path, url.path_size)
                return
            if start + length == size:
                into.used = name
        start += length + 1
    url.path_size = url.directory_size = into.used - url.path
    url.depth = _depth_of(into.data + url.path, url.path_size)


cdef void _write_host(Buffer *into, const unsigned char *authority, size_t size) noexcept nogil:
    """Append the host of an authority, without user and port."""
    cdef size_t position, first = 0, start = into.used
    for position in range(size):
        if authority[position] == c"@":
            first = position + 1
    size = first + (_before(authority + first, size - first, c":") if first < size and authority[first] != c"[" else size - first)
    if size - first > 4 and memcmp(authority + first, b"www.", 4) == 0:
        first += 4
    for position in range(first, size):
        into.data[into.used] = lower(authority[position])
        into.used += 1
    while into.used > start and into.data[into.used - 1] == c".":
        into.used -= 1


cdef void _write_name(Buffer *into, const unsigned char *name, size_t size) noexcept nogil:
    """Append the name of one level, its percent signs resolved, but for a slash that it holds, and its words parted."""
    cdef size_t position = 0
    cdef int high, low
    cdef unsigned char byte
    while position < size:
        byte = name[position]
        if byte == c"%" and position + 2 < size:
            high, low = hexadecimal(name[position + 1]), hexadecimal(name[position + 2])
            if high >= 0 and low >= 0 and (high << 4 | low) != c"/":
                byte = high << 4 | low
                position += 2
        into.data[into.used] = c" " if byte == c"_" else lower(byte)
        into.used += 1
        position += 1


cdef bint _is_index(const char *name, size_t size) noexcept nogil:
    """Return True for a file that stands for its folder: `index.html`, `default.aspx`."""
    return size > 6 and memcmp(name, b"index.", 6) == 0 or size > 8 and memcmp(name, b"default.", 8) == 0


cdef int _depth_of(const char *path, size_t size) noexcept nogil:
    cdef size_t position
    cdef int depth = 0
    for position in range(size):
        depth += path[position] == c"/"
    return depth


cdef size_t _scheme_of(const unsigned char *address, size_t size) noexcept nogil:
    """Return the bytes of the scheme and its colon, 0 for none."""
    cdef size_t position
    cdef unsigned char byte
    for position in range(size):
        byte = lower(address[position])
        if byte == c":":
            return position + 1 if position else 0
        if not c"a" <= byte <= c"z" and (
            not position or not (c"0" <= byte <= c"9" or byte == c"+" or byte == c"-" or byte == c".")
        ):
            return 0
    return 0


cdef bint _is_web(const unsigned char *scheme, size_t size) noexcept nogil:
    cdef const char *wanted = b"https:"
    cdef size_t position
    if size != 5 and size != 6:
        return False
    for position in range(size - 1):
        if lower(scheme[position]) != wanted[position]:
            return False
    return True


cdef inline void _write(Buffer *into, const char *data, size_t size) noexcept nogil:
    """Append bytes for which there is room."""
    memcpy(into.data + into.used, data, size)
    into.used += size


cdef inline size_t _before(const unsigned char *data, size_t size, char wanted) noexcept nogil:
    """Return the number of bytes before a character, or of all."""
    cdef const unsigned char *found = <const unsigned char *> memchr(data, wanted, size) if size else NULL
    return found - data if found != NULL else size


cdef uint64_t hash_of(const char *data, size_t size, uint64_t state) noexcept nogil:
    """Return FNV-1a over bytes, after a state."""
    cdef size_t position
    state ^= <uint64_t> 0xCBF29CE484222325
    for position in range(size):
        state = fnv(state, <unsigned char> data[position])
    return state
