# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The lists of a page: the item that each block stands in, and its mark."""

from dehusk.inference.native cimport markup
from dehusk.inference.native.buffer cimport Buffer, content, free, more
from dehusk.inference.native.lexbor cimport ELEMENT, Node
from dehusk.inference.native.markup cimport REVERSED, START, VALUE, has, integer
from dehusk.inference.native.rows cimport NONE, Row

from dehusk.inference.markup import elements
from dehusk.schemas.pages import BULLET

cdef int ITEM = elements.ITEM, NUMBERED = elements.NUMBERED
cdef int UNNUMBERED = BULLET


cdef struct List:
    bint numbered
    int next  # number
    int step
    int last  # item


cdef class Lists:
    """Items in the order in which they were entered, and the blocks in them."""

    def __dealloc__(self):
        free(&self._lists)
        free(&self._items)
        free(&self._blocks)

    cdef int enter(self, Row *row, bint directly) except -1:
        """Record a list or an item; a list that is `directly` in another one counts as in its last item."""
        if row.tag.lists == ITEM:
            row.item = self._add_item(row)
        else:
            if directly and row.list != NONE and (<List *> self._lists.data)[row.list].last != NONE:
                row.item = (<List *> self._lists.data)[row.list].last
            row.list = self._add_list(row)
        return 0

    cdef int _add_list(self, Row *row) except -1:
        cdef List *added = <List *> more(&self._lists, sizeof(List))
        added.numbered, added.next, added.step, added.last = row.tag.lists == NUMBERED, 1, 1, NONE
        if added.numbered:
            if has(row.element, REVERSED):
                added.next, added.step = _items_in(&row.element.node), -1
            added.next = integer(row.element, START, added.next)
        return added - <List *> self._lists.data

    cdef int _add_item(self, Row *row) except -1:
        cdef Item *added = <Item *> more(&self._items, sizeof(Item))
        cdef int index = added - <Item *> self._items.data
        cdef List *holder
        added.parent, added.held, added.number = row.item, 0, UNNUMBERED
        if row.list != NONE:
            holder = <List *> self._lists.data + row.list
            holder.last = index
            if holder.numbered:
                added.number = integer(row.element, VALUE, holder.next)
                holder.next = added.number + holder.step
        return index

    cdef int add_block(self, int item) except -1:
        """Add a block that an item, or NONE, is the innermost to hold."""
        (<int *> more(&self._blocks, sizeof(int)))[0] = item
        cdef Item *items = <Item *> self._items.data
        while item != NONE and not items[item].held:
            items[item].held = 1
            item = items[item].parent
        return 0

    cdef bytearray of_items(self):
        """Return the item around each item that holds blocks, then the numbers of these; call it once."""
        cdef Item *items = <Item *> self._items.data
        cdef Buffer parents = Buffer(NULL, 0, 0), numbers = Buffer(NULL, 0, 0)
        cdef int index, held = 0
        try:
            for index in range(<int> (self._items.used // sizeof(Item))):
                if items[index].held:
                    held += 1
                    items[index].held = held
                    (<int *> more(&parents, sizeof(int)))[0] = self._held(items[index].parent)
                    (<int *> more(&numbers, sizeof(int)))[0] = items[index].number
            return content(&parents) + content(&numbers)
        finally:
            free(&parents)
            free(&numbers)

    cdef bytearray of_blocks(self):
        """Return the item of each block; call it once, after `of_items`."""
        cdef int *blocks = <int *> self._blocks.data
        cdef size_t block
        for block in range(self._blocks.used // sizeof(int)):
            blocks[block] = self._held(blocks[block])
        return content(&self._blocks)

    cdef int _held(self, int item) noexcept:
        """Return 1 + the index of an item among those that hold blocks; 0 for none."""
        return 0 if item == NONE else (<Item *> self._items.data)[item].held


cdef int _items_in(Node *list_) except -1:
    cdef Node *node = list_.first_child
    cdef int count = 0
    while node != NULL:
        if node.type == ELEMENT and markup.tag_of(node.name).lists == ITEM:
            count += 1
        node = node.next
    return count
