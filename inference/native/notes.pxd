from dehusk.inference.native.recording cimport Recording
from dehusk.inference.native.rows cimport Rows


cdef dict find_notes(Recording recording, Rows rows, list texts)
