"""Lexbor's structures in memory, and the reading of names and values from them.

`lexbor_abi.h` is made from Lexbor's own headers, and the C compiler finds each member there by its name.
"""

from libc.stdint cimport uintptr_t
from libc.string cimport strlen

from dehusk.inference.native.buffer cimport memmem


cdef extern from "lexbor_abi.h" nogil:
    const char *SELECTOLAX_VERSION

    enum:
        ELEMENT "LXB_DOM_NODE_TYPE_ELEMENT"  # Node.type
        TEXT "LXB_DOM_NODE_TYPE_TEXT"
        HTML "LXB_NS_HTML"  # Node.namespace_
        MATH "LXB_NS_MATH"
        SVG "LXB_NS_SVG"
        SHORT_NAME "LEXBOR_HASH_SHORT_SIZE"
        # Lexbor numbers the names that it knows, fewer than so many; the id of another is the address of its Entry.
        NUMBERED_TAGS "LXB_TAG__LAST_ENTRY"
        NUMBERED_ATTRIBUTES "LXB_DOM_ATTR__LAST_ENTRY"

    const char *const *TAGS "lexbor_tags"  # the names by their numbers
    const char *const *ATTRIBUTES "lexbor_attributes"

    ctypedef struct Node "lxb_dom_node_t":
        uintptr_t name "local_name"
        uintptr_t namespace_ "ns"
        Node *next
        Node *prev
        Node *parent
        Node *first_child
        Node *last_child
        unsigned int type

    ctypedef struct Characters "lexbor_str_t":
        unsigned char *data
        size_t length

    ctypedef struct CharacterData "lxb_dom_character_data_t":
        Node node
        Characters data

    ctypedef struct Text "lxb_dom_text_t":
        CharacterData char_data

    ctypedef struct Attribute "lxb_dom_attr_t":
        Node node
        Characters *value
        Attribute *next

    ctypedef struct Element "lxb_dom_element_t":
        Node node
        Attribute *first_attribute "first_attr"
        Attribute *id "attr_id"
        Attribute *classes "attr_class"

    ctypedef union EntryName "lexbor_hash_name_t":
        unsigned char *long "long_str"
        unsigned char *short "short_str"  # in place, up to SHORT_NAME bytes

    ctypedef struct Entry "lexbor_hash_entry_t":
        EntryName name "u"
        size_t length


cdef struct String:
    const unsigned char *data
    size_t length


cdef inline bint contains(String text, const char *wanted) noexcept nogil:
    """Return True if some bytes stand anywhere in a text."""
    return text.length > 0 and memmem(text.data, text.length, wanted, strlen(wanted)) != NULL


cdef inline String name_of(uintptr_t entry) noexcept nogil:
    """Return the name that an id which is no number stands for."""
    cdef Entry *known = <Entry *> entry
    cdef String name
    name.length = known.length
    name.data = known.name.short if known.length <= SHORT_NAME else known.name.long
    return name


cdef inline String value_of(Attribute *attribute) noexcept nogil:
    """Return an attribute's value, empty where there is none."""
    cdef String value
    value.data, value.length = NULL, 0
    if attribute != NULL and attribute.value != NULL and attribute.value.data != NULL:
        value.data, value.length = attribute.value.data, attribute.value.length
    return value


cdef inline String text_of(Node *node) noexcept nogil:
    """Return the text of a text node; empty for any other node."""
    cdef String text
    cdef Characters *data
    text.data, text.length = NULL, 0
    if node != NULL and node.type == TEXT:
        data = &(<Text *> node).char_data.data
        if data.data != NULL:
            text.data, text.length = data.data, data.length
    return text


cdef inline str decoded(String text):
    return text.data[: text.length].decode("utf-8", "replace") if text.length else ""


cdef inline Node *after(Node *node, Node *top) noexcept nogil:
    """Return the next node in document order that a node does not hold, as far as the top holds it; else NULL."""
    while node != top and node.next == NULL:
        node = node.parent
    return NULL if node == top else node.next


cdef inline Node *following(Node *node, Node *top) noexcept nogil:
    """Return the next node in document order, as far as the top holds it; else NULL."""
    return node.first_child if node.first_child != NULL else after(node, top)


cdef inline Node *element_from(Node *node) noexcept nogil:
    """Return the first element from a node on, in the same parent; else NULL."""
    while node != NULL and node.type != ELEMENT:
        node = node.next
    return node


cdef inline Node *element_up_to(Node *node) noexcept nogil:
    """Return the last element up to a node, in the same parent; else NULL."""
    while node != NULL and node.type != ELEMENT:
        node = node.prev
    return node
