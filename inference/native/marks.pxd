"""Marks that a page shows beside its text and that are none of it."""

from libc.stdint cimport uint32_t
from libc.string cimport memcmp

from dehusk.inference.native cimport lexbor, utf8
from dehusk.inference.native.ascii cimport is_digit, is_space
from dehusk.inference.native.lexbor cimport Element, Node, String
from dehusk.inference.native.markup cimport ALT, HREF, same, spells, tag_name, value_of
from dehusk.inference.native.unicode cimport Py_UNICODE_ISALPHA, Py_UNICODE_ISSPACE


cdef enum:
    MAX_GUTTER = 20_000  # characters and nodes
    MAX_READ_ALOUD = 400  # bytes and nodes
    MAX_SMILEY = 60  # bytes
    PILCROW = 0xB6
    SECTION = 0xA7
    CHAIN = 0x1F517


cdef inline bint is_permalink(Element *link) noexcept:
    """Return True if all that a link shows is a mark, of which readers take the address of a heading."""
    cdef String text = lexbor.text_of(link.node.first_child)
    cdef uint32_t mark
    if not text.length or link.node.first_child.next != NULL:
        return False
    if utf8.read(text.data, text.length, &mark) < text.length:
        return False
    return utf8.is_icon(mark) or mark == c"#" or mark == PILCROW or mark == SECTION or mark == CHAIN


cdef inline bint goes_on(Element *element):
    """Return True if an element stands directly after one that it was a part of before an editor split it.

    Such are two links to the same address, and two runs of text of Word. Links with classes are parts of
    a design, such as labels, and each has a text of its own.
    """
    cdef Element *before = <Element *> element.node.prev
    cdef String address
    if before == NULL or before.node.type != lexbor.ELEMENT or before.node.name != element.node.name:
        return False
    if lexbor.contains(lexbor.value_of(element.classes), b"TextRun"):
        return lexbor.contains(lexbor.value_of(before.classes), b"TextRun")
    if element.classes != NULL or before.classes != NULL:
        return False
    address = value_of(element, HREF)
    return address.length > 0 and address.data[0] != c"#" and same(address, value_of(before, HREF))


cdef inline bint is_drawn_icon(Element *element) noexcept:
    """Return True for an empty element that a style draws an icon in: `<i class="fa fa-clock">`.

    Other elements with classes may be empty, too: a `<wbr>`, or bold text that an editor has emptied.
    """
    cdef String name
    if element.classes == NULL or element.node.first_child != NULL:
        return False
    name = tag_name(element.node.name)
    return spells(name, b"i") or spells(name, b"b")


cdef inline bint is_named_icon(Element *element) noexcept:
    """Return True if all of an element's text is the name of an icon, which a font draws in its place.

    The classes are those of Google's Material Icons and Symbols.
    """
    cdef String name, classes, part
    cdef size_t position
    if element.classes == NULL or element.node.first_child == NULL or element.node.first_child.next != NULL:
        return False
    name = lexbor.text_of(element.node.first_child)
    while name.length and is_space(name.data[0]):
        name.data += 1
        name.length -= 1
    while name.length and is_space(name.data[name.length - 1]):
        name.length -= 1
    for position in range(name.length):
        if not (c"a" <= name.data[position] <= c"z" or is_digit(name.data[position]) or name.data[position] == c"_"):
            return False
    classes = lexbor.value_of(element.classes)
    while name.length and classes.length:
        part = _next_name(&classes)
        if (part.data[0] == c"m" or part.data[0] == c"g") and _names_icon_font(part):
            return True
    return False


cdef inline bint _names_icon_font(String part) noexcept:
    """Return True for a font of icons, or one of its styles: `material-icons-outlined`."""
    cdef bytes family
    cdef size_t length
    for family in (b"material-icons", b"material-symbols", b"google-symbols", b"google-material-icons"):
        length = len(family)
        if part.length >= length and not memcmp(part.data, <const char *> family, length):
            return part.length == length or part.data[length] == c"-"
    return spells(part, b"material-icon")


cdef inline bint is_smiley(Element *image) noexcept:
    """Return True for an image in the place of a smiley or an emoji, which its alternative text is: `:)`.

    One whose text is a name, such as Smile, is a picture.
    """
    cdef String classes = lexbor.value_of(image.classes), part, text
    cdef size_t position
    while classes.length:
        part = _next_name(&classes)
        if 5 <= part.length <= 15 and _names_smiley(part):
            text = value_of(image, ALT)
            for position in range(text.length):
                if is_space(text.data[position]) or position == MAX_SMILEY:
                    return False
            return not _is_word(text)
    return False


cdef inline bint _is_word(String text) noexcept:
    """Return True if a text has no characters but letters."""
    cdef uint32_t character
    cdef size_t position = 0
    while position < text.length:
        position += utf8.read(text.data + position, text.length - position, &character)
        if not Py_UNICODE_ISALPHA(character):
            return False
    return True


cdef inline bint _names_smiley(String part) noexcept:
    """Return True for a class of smileys: of WordPress, Discourse and Twitter, phpBB, XenForo and others."""
    cdef bytes name
    if part.data[0] not in (c"w", c"e", c"s", c"E", c"m"):
        return False
    for name in (b"wp-smiley", b"emoji", b"smilies", b"smilie", b"smiley", b"Emoji--forText", b"mceSmilieSprite"):
        if spells(part, name):
            return True
    return False


cdef inline bint stands_alone(Element *element) noexcept:
    """Return True if there is nothing but white space beside an element."""
    return _is_blank_edge(element.node.prev) and _is_blank_edge(element.node.next)


cdef inline bint _is_blank_edge(Node *node) noexcept:
    """Return True for no node, and for white space that is the first or the last node of its element."""
    cdef String text = lexbor.text_of(node)
    if node == NULL:
        return True
    return (node.prev == NULL or node.next == NULL) and utf8.leading_space(text.data, text.length) == text.length > 0


cdef inline bint is_next_line(Element *element):
    """Return True if an element in `<pre>` comes directly after another one, and each is a line of code.

    Such are `<code>` in `<pre>`, and what has a class such as `line` or `code-line`.
    """
    cdef Node *before = element.node.prev
    if before == NULL or before.name != element.node.name:
        return False
    if spells(tag_name(element.node.name), b"code"):
        return spells(tag_name(element.node.parent.name), b"pre")
    return _has_class_of_line(element) and _has_class_of_line(<Element *> before)


cdef inline bint _has_class_of_line(Element *element):
    cdef String classes = lexbor.value_of(element.classes), name
    while classes.length:
        name = _next_name(&classes)
        if name.length >= 4 and not memcmp(name.data + name.length - 4, b"line", 4):
            if name.length == 4 or name.data[name.length - 5] == c"-":
                return True
    return False


cdef inline bint is_gutter(Element *element):
    """Return True if an element holds nothing but numbers, which its class marks as those of lines of code."""
    cdef String classes = lexbor.value_of(element.classes), name
    while classes.length:
        name = _next_name(&classes)
        if (name.data[0] == c"l" or name.data[0] == c"g") and _names_gutter(name):
            return _holds_numbers(&element.node)
    return False


cdef inline bint is_read_aloud(Element *element):
    """Return True if an element's class hides it from all but screen readers.

    The names are those of Bootstrap, WordPress, Foundation, Drupal and HTML5 Boilerplate. What holds much text
    is for everybody, and shown by script.
    """
    cdef String classes = lexbor.value_of(element.classes), name
    while classes.length:
        name = _next_name(&classes)
        if (name.data[0] == c"s" or name.data[0] == c"v" or name.data[0] == c"e") and _names_unseen(name):
            return not _is_long(&element.node)
    return False


cdef inline bint _is_long(Node *top) noexcept:
    cdef Node *node = top
    cdef size_t seen = 0
    while node != NULL:
        seen += 1 + lexbor.text_of(node).length
        if seen > MAX_READ_ALOUD:
            return True
        node = lexbor.following(node, top)
    return False


cdef inline String _next_name(String *classes) noexcept nogil:
    """Take the first name off a class attribute that has some text; return it, empty where white space is next."""
    cdef String name = String(classes.data, 0)
    while name.length < classes.length and not Py_UNICODE_ISSPACE(classes.data[name.length]):
        name.length += 1
    classes.data += min(name.length + 1, classes.length)
    classes.length -= min(name.length + 1, classes.length)
    return name


cdef inline bint _names_gutter(String part):
    for name in (b"linenos", b"lineno", b"linenumber", b"line-number", b"gutter", b"ln", b"lnt", b"lntd"):
        if spells(part, name):
            return True
    return False


cdef inline bint _names_unseen(String part):
    for name in (b"sr-only", b"visually-hidden", b"visuallyhidden", b"screen-reader-text", b"screen-reader-only"):
        if spells(part, name):
            return True
    return spells(part, b"show-for-sr") or spells(part, b"element-invisible")


cdef inline bint _holds_numbers(Node *top) noexcept:
    cdef Node *node = top
    cdef String text
    cdef size_t position, seen = 0
    while node != NULL:
        text = lexbor.text_of(node)
        seen += 1 + text.length
        if seen > MAX_GUTTER:
            return False
        for position in range(text.length):
            if not (c"0" <= text.data[position] <= c"9" or Py_UNICODE_ISSPACE(text.data[position])):
                return False
        node = lexbor.following(node, top)
    return True
