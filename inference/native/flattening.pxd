from dehusk.inference.native.tags cimport Token

cdef enum:
    HARMLESS_ENDS = 100  # end tags with attributes, at each of which a text may be copied

cdef frozenset RAW_NAMES, RAW_NAMES_WITH_SCRIPTING, FORMATTING_NAMES, WITH_HTML_NAMES, BREAKING_OUT_NAMES
cdef frozenset END_ENDING_NAMES

cdef bint ends_foreign(const unsigned char *text, bytes tag, Token *token) except -1
