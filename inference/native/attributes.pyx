# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The attributes of elements as Python has them, of the few that markup is read from."""

from dehusk.inference.native cimport lexbor
from dehusk.inference.native.lexbor cimport Attribute, Element, String, contains, decoded

from dehusk.inference.markup import pictures, players
from dehusk.inference.native.markup import NUMBERED_ATTRIBUTES

ATTRIBUTES = (
    *pictures.ATTRIBUTES,
    *players.ATTRIBUTES,
    *("data-lang", "data-language", "lang", "type", "checked", "disabled", "aria-level"),
)
"""The attributes that are read."""

cdef dict _names = {}  # by the number that Lexbor has for each, or by its own bytes
_numbers = {name: number for number, name in enumerate(NUMBERED_ATTRIBUTES)}
for _name in ATTRIBUTES:
    _names[_numbers.get(_name, _name.encode())] = _name


cdef str _name_of(Attribute *attribute):
    """Return the one of `ATTRIBUTES` that an attribute is, or None."""
    cdef String name
    if attribute.node.name < lexbor.NUMBERED_ATTRIBUTES:
        return _names.get(attribute.node.name)
    name = lexbor.name_of(attribute.node.name)
    return _names.get(name.data[: name.length])


cdef dict attributes(Element *element):
    """Return the values of those of `ATTRIBUTES` that an element has; long ones cut."""
    cdef Attribute *each = element.first_attribute
    cdef String value
    found = {}
    while each != NULL:
        name = _name_of(each)
        if name is not None:
            value = lexbor.value_of(each)
            value.length = min(value.length, <size_t> (16 * MAX_ADDRESS))
            found[name] = decoded(value)
        each = each.next
    return found


cdef list lazy_values(Element *element):
    """Return the values of attributes that no standard has and that are named after `src` or lazy loading."""
    cdef Attribute *each = element.first_attribute
    cdef String name, value
    found = []
    while each != NULL:
        if each.node.name >= lexbor.NUMBERED_ATTRIBUTES:
            name, value = lexbor.name_of(each.node.name), lexbor.value_of(each)
            if contains(name, b"-") and (contains(name, b"src") or contains(name, b"lazy")):
                value.length = min(value.length, <size_t> (16 * MAX_ADDRESS))
                found.append(decoded(value))
        each = each.next
    return found


cdef str classes(Element *element):
    """Return the class attribute, the first characters of a long one."""
    cdef String value = lexbor.value_of(element.classes)
    value.length = min(value.length, <size_t> (4 * MAX_CLASSES))
    return decoded(value)[:MAX_CLASSES]
