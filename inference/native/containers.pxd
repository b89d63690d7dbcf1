from dehusk.inference.native.lists cimport Lists
from dehusk.inference.native.recording cimport Recording
from dehusk.inference.native.rows cimport Rows
from dehusk.inference.native.tables cimport Tables


cdef dict columns(Recording recording, Rows rows, Lists lists, Tables tables, object holders, list texts)
