"""The leading fields of Lexbor's structures, in Lexbor's order, and how names and values are read from them.

Only what is read is named; the rest keeps its place. `layout.check` compares them with the installed Lexbor.
"""

from libc.stdint cimport uintptr_t


cdef enum:
    ELEMENT = 1  # Node.type
    TEXT = 3

cdef enum:
    # Lexbor numbers the names that it knows, fewer than so many; the id of another is the address of its Entry.
    NUMBERED = 256
    SHORT_NAME = 16


cdef struct Node:  # lxb_dom_node_t
    void *events
    uintptr_t name
    uintptr_t prefix
    uintptr_t namespace_
    void *document
    Node *next
    Node *prev
    Node *parent
    Node *first_child
    Node *last_child
    void *user
    unsigned int type


cdef struct String:  # lexbor_str_t
    const unsigned char *data
    size_t length


cdef struct Text:  # lxb_dom_text_t
    Node node
    String data


cdef struct Attribute:  # lxb_dom_attr_t
    Node node
    uintptr_t upper_name
    uintptr_t qualified_name
    String *value
    void *owner
    Attribute *next


cdef struct Element:  # lxb_dom_element_t
    Node node
    uintptr_t upper_name
    uintptr_t qualified_name
    String *is_value
    Attribute *first_attribute
    Attribute *last_attribute
    Attribute *id
    Attribute *classes


cdef union EntryName:
    const unsigned char *long
    unsigned char short[SHORT_NAME + 1]


cdef struct Entry:  # lexbor_hash_entry_t
    EntryName name
    size_t length


cdef inline String name_of(uintptr_t entry) noexcept nogil:
    """The name behind an id that is no number."""
    cdef Entry *known = <Entry *> entry
    cdef String name
    name.length = known.length
    if known.length <= SHORT_NAME:
        name.data = &known.name.short[0]
    else:
        name.data = known.name.long
    return name


cdef inline String value_of(Attribute *attribute) noexcept nogil:
    """An attribute's value, empty where there is none."""
    cdef String value
    value.data, value.length = NULL, 0
    if attribute != NULL and attribute.value != NULL and attribute.value.data != NULL:
        value = attribute.value[0]
    return value


cdef inline String text_of(Node *node) noexcept nogil:
    """What a text node holds, empty for any other node."""
    cdef String text
    text.data, text.length = NULL, 0
    if node != NULL and node.type == TEXT and (<Text *> node).data.data != NULL:
        text = (<Text *> node).data
    return text


cdef inline str decoded(String text):
    return text.data[: text.length].decode("utf-8", "replace") if text.length else ""


cdef inline Node *after(Node *node, Node *top) noexcept nogil:
    """The next node in document order that a node does not hold, as far as the top holds it; else NULL."""
    while node != top and node.next == NULL:
        node = node.parent
    return NULL if node == top else node.next


cdef inline Node *following(Node *node, Node *top) noexcept nogil:
    """The next node in document order, as far as the top holds it; else NULL."""
    return node.first_child if node.first_child != NULL else after(node, top)
