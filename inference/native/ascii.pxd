"""Letters, digits and white space of ASCII, by their bytes."""


cdef inline bint is_upper(unsigned char byte) noexcept nogil:
    return c"A" <= byte <= c"Z"


cdef inline bint is_letter(unsigned char byte) noexcept nogil:
    return c"a" <= byte | 0x20 <= c"z"


cdef inline bint is_digit(unsigned char byte) noexcept nogil:
    return c"0" <= byte <= c"9"


cdef inline bint is_space(unsigned char byte) noexcept nogil:
    """Return True for the white space of HTML, to which the vertical tab does not belong."""
    return byte <= c" " and (byte == c" " or (c"\t" <= byte <= c"\r" and byte != c"\v"))


cdef inline unsigned char lower(unsigned char byte) noexcept nogil:
    return byte | 0x20 if is_upper(byte) else byte


cdef inline int hexadecimal(unsigned char byte) noexcept nogil:
    """Return the value of a hexadecimal digit, or -1."""
    if is_digit(byte):
        return byte - c"0"
    byte = lower(byte)
    return byte - c"a" + 10 if c"a" <= byte <= c"f" else -1
