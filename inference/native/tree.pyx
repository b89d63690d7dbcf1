# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""A whole document as the columns of `DocumentTree`."""

from libc.stdint cimport int32_t
from libc.string cimport strlen

from dehusk.inference.native cimport lexbor, markup
from dehusk.inference.native.buffer cimport Buffer, append, content, free
from dehusk.inference.native.lexbor cimport Attribute, Element, Node, String, decoded

import numpy as np

from dehusk.inference.markup.elements import VOID

cdef frozenset _VOID = frozenset(VOID)


cdef class BlockTexts:
    """Texts of the document that make up each block, as a walk reads them; valid as long as the document."""

    def __dealloc__(self):
        free(&self._texts)

    cdef int add(self, Node *node, int block) except -1:
        """Add a text of a block; `node` is NULL for a text that the document has elsewhere, as TeX in an attribute."""
        cdef BlockText text
        text.node, text.block = node, block
        return append(&self._texts, &text, sizeof(text))

    cdef int drop(self, int count) except -1:
        """Remove the last texts, which made no block."""
        self._texts.used -= count * sizeof(BlockText)
        return 0


def columns_of(document: object, size_t address, BlockTexts block_texts) -> dict:
    """Return the fields of the `DocumentTree` of an element, whose texts a walk has read; empty at address 0.

    The document is kept alive meanwhile.
    """
    columns = _Columns()
    if address:
        columns.read(<Node *> address, block_texts)
    return columns.fields()


cdef class _Columns:
    cdef list _tags, _classes, _ids, _texts
    cdef dict _known  # strings, so that equal ones are one
    cdef Buffer _parents, _begins, _ends, _holders, _text_begins, _blocks
    cdef size_t _position

    def __cinit__(self):
        self._tags, self._classes, self._ids, self._texts = [], [], [], []
        self._known = {"": ""}

    def __dealloc__(self):
        free(&self._parents)
        free(&self._begins)
        free(&self._ends)
        free(&self._holders)
        free(&self._text_begins)
        free(&self._blocks)

    cdef int read(self, Node *top, BlockTexts block_texts) except -1:
        """Read all nodes in order; calls do not nest however deep they stand."""
        cdef Node *node = top
        cdef int32_t holder = -1
        cdef BlockText *text = <BlockText *> block_texts._texts.data
        cdef BlockText *end = text + block_texts._texts.used // sizeof(BlockText)
        while True:
            if node.type == lexbor.TEXT:
                while text < end and text.node == NULL:
                    text += 1
                if text < end and text.node == node:
                    self._add_text(node, holder, text.block)
                    text += 1
                else:
                    self._add_text(node, holder, -1)
            elif node.type == lexbor.ELEMENT:
                holder = self._enter(<Element *> node, holder)
                if node.first_child != NULL:
                    node = node.first_child
                    continue
                holder = self._leave(holder)
            while node != top and node.next == NULL:
                node = node.parent
                holder = self._leave(holder)
            if node == top:
                return 0
            node = node.next

    cdef int32_t _enter(self, Element *element, int32_t parent) except -2:
        cdef int32_t index = len(self._tags), begin = self._position, end = 0
        cdef Attribute *attribute = element.first_attribute
        cdef str tag = self._string(markup.tag_name(element.node.name))
        self._tags.append(tag)
        self._classes.append(self._string(lexbor.value_of(element.classes)))
        self._ids.append(self._string(lexbor.value_of(element.id)))
        append(&self._parents, &parent, sizeof(parent))
        append(&self._begins, &begin, sizeof(begin))
        append(&self._ends, &end, sizeof(end))
        self._position += len(tag) + 2  # < >
        while attribute != NULL:
            self._position += _name_length(attribute) + _length(lexbor.value_of(attribute)) + 4  # space = " "
            attribute = attribute.next
        return index

    cdef int32_t _leave(self, int32_t index) except -2:
        """End an element; return the one that holds it."""
        tag = self._tags[index]
        if tag not in _VOID:
            self._position += len(tag) + 3  # < / >
        (<int32_t *> self._ends.data)[index] = self._position
        return (<int32_t *> self._parents.data)[index]

    cdef int _add_text(self, Node *node, int32_t holder, int32_t block) except -1:
        cdef String text = lexbor.text_of(node)
        cdef int32_t begin = self._position
        self._texts.append(decoded(text))
        append(&self._holders, &holder, sizeof(holder))
        append(&self._text_begins, &begin, sizeof(begin))
        append(&self._blocks, &block, sizeof(block))
        self._position += _length(text)
        return 0

    cdef str _string(self, String value):
        text = decoded(value)
        return self._known.setdefault(text, text)

    cdef dict fields(self):
        return {
            "tags": tuple(self._tags),
            "parents": _integers(&self._parents),
            "classes": tuple(self._classes),
            "ids": tuple(self._ids),
            "begins": _integers(&self._begins),
            "ends": _integers(&self._ends),
            "texts": tuple(self._texts),
            "holders": _integers(&self._holders),
            "text_begins": _integers(&self._text_begins),
            "blocks": _integers(&self._blocks),
        }


cdef size_t _name_length(Attribute *attribute) noexcept:
    if attribute.node.name < lexbor.NUMBERED_ATTRIBUTES:
        return strlen(lexbor.ATTRIBUTES[attribute.node.name])
    return _length(lexbor.name_of(attribute.node.name))


cdef size_t _length(String text) noexcept:
    """Count the characters of a text in UTF-8."""
    cdef size_t count = 0, index
    for index in range(text.length):
        count += text.data[index] & 0xC0 != 0x80
    return count


cdef _integers(Buffer *buffer):
    return np.frombuffer(content(buffer), np.int32)
