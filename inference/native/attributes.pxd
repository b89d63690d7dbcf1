from dehusk.inference.native.lexbor cimport Element

cdef enum:
    MAX_ADDRESS = 2000  # bytes; no link of more is kept
    MAX_CLASSES = 200  # characters


cdef dict attributes(Element *element)
cdef list lazy_values(Element *element)
cdef str classes(Element *element)
