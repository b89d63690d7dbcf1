# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The roles that elements play for the guard before the parser."""

from libc.stdint cimport uint64_t

from dehusk.inference.native.tags cimport Token, begin_of_attribute, end_of_attribute, end_of_name

from dehusk.inference.markup.elements import VOID as _VOID

cdef dict ROLES = {}
"""Roles of elements, by the names of these; others have none."""
_SCOPES = "applet marquee object select table template button"

for _role, _names in (
    (SVG, "svg"),
    (MATH, "math"),
    (HTML_IN_SVG, "foreignobject desc title"),
    (HTML_IN_MATH, "mi mo mn ms mtext"),
    (MAY_HOLD_HTML, "annotation-xml"),
    # HTML Standard, section 13.2.6.5; <font> does so with some attributes.
    (BREAKS_OUT, """
        b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu
        meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var
    """),
    (BREAKS_OUT_BY_END, "p br"),
    (FONT, "font"),
    # Elements that a parser opens again in each block until their end tag (HTML Standard, section 13.2.4.3), without
    # those that a further one ends.
    (FORMATS, "b big code em font i s small strike strong tt u"),
    (RAW, "script style textarea title iframe noembed noframes xmp"),
    (NOSCRIPT, "noscript"),
    (FRAMESET, "frameset"),
    (TEMPLATE, "template"),
    (COL, "col"),
    (FORM, "form"),
    (HTML, "html"),
    (BODY, "body"),
    (VOID, " ".join(_VOID)),
    # Elements ended by the next of their kind: they do not nest without others that are counted.
    (CLOSED_BY_NEXT, "p colgroup tbody thead tfoot tr td th caption head"),
    # Elements that a further one ends, though other elements lie between.
    (CLOSED_BY_OWN, "a nobr button"),
    # Elements ended by the next one, unless elements that are special lie between, but for those of PLACE.
    (LIST_ITEM, "li"),
    (TERM, "dd dt"),
    (PLACE, "address div"),
    (OPTION, "option"),
    (OPTION_GROUP, "optgroup"),
    # Elements that end a heading whose children they would be.
    (HEADING, "h1 h2 h3 h4 h5 h6"),
    # Elements that bound the search of an end tag for its start tag, as do those of drawings that hold HTML.
    (SCOPE, _SCOPES),
    # Elements not ended by the end tag of an ordinary element.
    (SPECIAL, _SCOPES + """
        address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure
        footer form h1 h2 h3 h4 h5 h6 header hgroup html li listing main menu nav noscript ol pre search section
        summary ul
    """),
):
    for _name in _names.encode().split():
        ROLES[_name] = ROLES.get(_name, 0) | _role


cdef uint64_t _COLOR = packed(b"color", 5), _FACE = packed(b"face", 4), _SIZE = packed(b"size", 4)


cdef bint ends_foreign(const unsigned char *text, const Token *token, int roles) noexcept:
    """Return True for a tag of HTML that ends all drawings and formulas around it."""
    if token.is_end:
        return roles & BREAKS_OUT_BY_END
    return roles & BREAKS_OUT or (roles & FONT and _is_font_of_html(text, token))


cdef bint _is_font_of_html(const unsigned char *text, const Token *token) noexcept:
    cdef size_t begin = begin_of_attribute(text, token.end, token.name_end)
    cdef uint64_t name
    while begin < token.kept:
        name = packed(text + begin, end_of_name(text, token.end, begin) - begin)
        if name == _COLOR or name == _FACE or name == _SIZE:
            return True
        begin = begin_of_attribute(text, token.end, end_of_attribute(text, token.end, begin))
    return False
