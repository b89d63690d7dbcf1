from libc.stdint cimport uint64_t

from dehusk.inference.native.buffer cimport Buffer


cdef struct Url:  # its host and path lie in a buffer, at these bytes
    bint is_web  # of http or https, or relative to such a one
    bint is_fragment  # a place in the page itself
    bint has_query
    size_t host  # in lower case, without port and `www.`
    size_t host_size
    size_t path  # a slash and a name for each level, in lower case, percent signs resolved, underscores as spaces
    size_t path_size
    size_t directory_size  # of the path: what relative addresses begin with
    int depth
    uint64_t query  # its hash, 0 for none


cdef int read_url(Buffer *into, const unsigned char *address, size_t size, Url *base, Url *url) except -1
cdef uint64_t hash_of(const char *data, size_t size, uint64_t state) noexcept nogil
