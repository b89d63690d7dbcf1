"""The meaning of each HTML element to a reader, by its tag."""

from typing import NamedTuple

from dehusk.schemas.pages import Boundary, ElementFlag, TagCount

# ruff: noqa: SIM905 -- a table of thirty names reads better as words than as thirty strings

# Plain integers: the walk over a page compares one per node.
SKIPPED = 0
"""Not shown, nor anything in it."""
TIGHT = 1
"""Part of a line; its edges do not separate words: `w<b>or</b>d`."""
INLINE = 2
"""Part of a line; its edges separate words."""
LINK = 3
"""An inline element whose text is linked."""
BREAK = 4
"""The end of a line."""
BLOCK = 5
"""An element on lines of its own."""
FALLBACK = 6
"""A block that is shown only without scripts."""
CUSTOM = 7
"""An unknown element: part of a line within one, else on lines of its own."""

VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
"""Elements without content and end tag."""

MAX_PATH = 64
"""Limit of tags in a path; of a deeper element the innermost are named."""

NEVER = 0
"""Never hidden: a page that hides itself shows itself by script."""
BY_ATTRIBUTE = 1
"""Hidden by its attributes `hidden`, `popover` or `style`."""
UNLESS_OPEN = 2
"""Hidden, too, unless it has the attribute `open`."""

LINE_BOX = 0
"""Parts of lines, as elements are displayed without a style."""
NO_BOX = 1
"""No box but those of its content."""
TABLE_BOX = 2
TABLE_PART = 3
"""A part of a table that is no cell."""
BLOCK_BOX = 4
KEPT_BOX = 5
"""A block, also with a style that makes parts of lines of it."""
WHOLE_BOX = 6
"""A block, also with such a style, and not displayed without a box."""

NOTHING = 0
BULLETED = 1
"""A list whose items have the same mark."""
NUMBERED = 2
"""A list whose items have numbers."""
ITEM = 3
"""An item of a list."""

TABLE = 1
ROW = 2
CELL = 3

TITLE = 1
"""Its text is the page's title."""
META = 2
"""Its attributes may describe the page."""
SCRIPT = 3
"""Its text may be structured data on the page."""
DRAWING = 4
"""Its content does not describe the page, apart from HTML in it."""
FORMULA = 5
"""It may be annotated with TeX, which has the same meaning."""
HOLDS_HTML = 6
"""An element of a drawing whose content is HTML again."""
TEMPLATE = 7
"""It may be a shadow root, whose content is shown."""
NOTE = 8
"""A note of a drawing or a formula; elsewhere an element like any that is unknown."""

_KINDS = {
    "noscript": FALLBACK,
    "a": LINK,
    "br": BREAK,
    **dict.fromkeys(
        """
        annotation annotation-xml applet area audio base canvas col colgroup datalist desc embed frame
        frameset head iframe link meta meter noembed noframes object param progress rp script source style svg
        template title track video
        """.split(),
        SKIPPED,
    ),
    **dict.fromkeys(
        """
        abbr acronym b big cite code del dfn em font i ins kbd mark s samp small strike strong sub sup tt u
        var wbr
        """.split(),
        TIGHT,
    ),
    **dict.fromkeys(
        """
        bdi bdo data img label math mi mn mo ms mtext nobr picture q rb rt rtc ruby slot span time mfrac mrow
        msqrt msub msubsup msup munder munderover
        """.split(),
        INLINE,
    ),
}
_BOXES = {
    "slot": NO_BOX,
    "table": TABLE_BOX,
    **dict.fromkeys("caption tbody tfoot thead tr".split(), TABLE_PART),
    **dict.fromkeys("button legend".split(), KEPT_BOX),
    **dict.fromkeys("select textarea".split(), WHOLE_BOX),
    **dict.fromkeys(
        """
        altglyph altglyphdef altglyphitem animatecolor animatemotion animatetransform blink clippath
        feblend fecolormatrix fecomponenttransfer fecomposite feconvolvematrix fediffuselighting
        fedisplacementmap fedistantlight fedropshadow feflood fefunca fefuncb fefuncg fefuncr fegaussianblur
        feimage femerge femergenode femorphology feoffset fepointlight fespecularlighting fespotlight fetile
        feturbulence foreignobject glyphref isindex lineargradient malignmark mfenced mglyph multicol nextid
        output path radialgradient selectedcontent spacer textpath
        """.split(),
        LINE_BOX,
    ),
}
_EDGES = {
    **dict.fromkeys("td th".split(), Boundary.CELL),
    **dict.fromkeys("tr thead tbody tfoot".split(), Boundary.ROW),
    **dict.fromkeys(
        """
        blockquote dl fieldset figure h1 h2 h3 h4 h5 h6 hr listing menu ol p plaintext pre table textarea ul
        xmp
        """.split(),
        Boundary.PARAGRAPH,
    ),
}
_LISTS = {**dict.fromkeys("ul menu dir".split(), BULLETED), "ol": NUMBERED, "li": ITEM}
_TABLES = {"table": TABLE, "tr": ROW, **dict.fromkeys("td th".split(), CELL)}
_SHIFTS = {"sup": "^", "sub": "_"}
_SYMBOLS = {"q": ("“", "”"), "rt": ("(", ")"), "msqrt": ("√(", ")"), "mtext": (" ", " ")}
_JOINTS = {"mfrac": "/", "msub": "_", "msubsup": "_^", "msup": "^", "munder": "_", "munderover": "_^"}
_PHRASING = frozenset("h1 h2 h3 h4 h5 h6 legend math p pre summary".split())
_PREFORMATTED = frozenset("listing plaintext pre textarea xmp".split())
_PARTS_OF_CODE = {
    **dict.fromkeys("div table tbody tr ol ul menu dir li".split(), "\n"),
    **dict.fromkeys("td th".split(), "\t"),
}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_HIDES = {"html": NEVER, "body": NEVER, "dialog": UNLESS_OPEN}
_FLAGS = {
    "article": ElementFlag.ARTICLE,
    "main": ElementFlag.MAIN,
    "nav": ElementFlag.NAV,
    "header": ElementFlag.HEADER,
    "footer": ElementFlag.FOOTER,
    "aside": ElementFlag.ASIDE,
    "form": ElementFlag.FORM,
    "li": ElementFlag.ITEM,
    **dict.fromkeys("td th".split(), ElementFlag.CELL),
    **dict.fromkeys("button select label option".split(), ElementFlag.BUTTON),
    **dict.fromkeys("pre code".split(), ElementFlag.CODE),
    "figure": ElementFlag.FIGURE,
    "a": ElementFlag.LINK,
}
_ROLES = {
    "title": TITLE,
    "meta": META,
    "script": SCRIPT,
    "svg": DRAWING,
    "math": FORMULA,
    "foreignobject": HOLDS_HTML,
    "template": TEMPLATE,
    **dict.fromkeys("annotation annotation-xml desc".split(), NOTE),
}
ROLES = {
    "article": ElementFlag.ARTICLE,
    "main": ElementFlag.MAIN,
    "navigation": ElementFlag.NAV,
    "banner": ElementFlag.HEADER,
    "contentinfo": ElementFlag.FOOTER,
    "complementary": ElementFlag.ASIDE,
}
"""Flags of ARIA roles."""
_COUNTS = {
    "article": TagCount.ARTICLES,
    **dict.fromkeys("img amp-img amp-anim".split(), TagCount.IMAGES),
    "form": TagCount.FORMS,
    **dict.fromkeys("pre code".split(), TagCount.CODES),
    "li": TagCount.ITEMS,
    "table": TagCount.TABLES,
    **dict.fromkeys("input button".split(), TagCount.CONTROLS),
}

TAGS = tuple(
    """
    amp-anim amp-img
    a abbr acronym address altglyph altglyphdef altglyphitem animatecolor animatemotion animatetransform
    annotation annotation-xml applet area article aside audio b base basefont bdi bdo bgsound big blink
    blockquote body br button canvas caption center cite clippath code col colgroup data datalist dd del
    desc details dfn dialog dir div dl dt em embed feblend fecolormatrix fecomponenttransfer fecomposite
    feconvolvematrix fediffuselighting fedisplacementmap fedistantlight fedropshadow feflood fefunca
    fefuncb fefuncg fefuncr fegaussianblur feimage femerge femergenode femorphology feoffset fepointlight
    fespecularlighting fespotlight fetile feturbulence fieldset figcaption figure font footer
    foreignobject form frame frameset glyphref h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe image
    img input ins isindex kbd keygen label legend li lineargradient link listing main malignmark map mark
    marquee math menu meta meter mfenced mfrac mglyph mi mn mo mrow ms msqrt msub msubsup msup mtext multicol
    munder munderover nav nextid nobr noembed
    noframes noscript object ol optgroup option output p param path picture plaintext pre progress q
    radialgradient rb rp rt rtc ruby s samp script search section select selectedcontent slot small source
    spacer span strike strong style sub summary sup svg table tbody td template textarea textpath tfoot th
    thead time title tr track tt u ul var video wbr xmp
    """.split()
)
"""All tags known here or to the parser."""
_KNOWN = frozenset(TAGS)


class Traits(NamedTuple):
    """Properties of an element by its tag."""

    kind: int
    edge: int
    """Boundary at its start and its end."""
    lists: int
    """Role in a list."""
    tables: int
    """Role in a table."""
    shift: str
    """`^` or `_`, written before it between two digits; else a null byte."""
    opening: str
    """Text before its own, or nothing."""
    closing: str
    """Text after its own, or nothing."""
    joints: str
    """Symbols between its first elements: one for each but the first."""
    phrasing: bool
    """True if it may hold nothing but parts of lines, by the HTML standard."""
    preformatted: bool
    """True if its white space counts."""
    parts: str
    """Character for its edge in preformatted text: a line break, a tab, or a null byte for a new block."""
    flag: int
    heading: int
    """Level of a heading, else 0."""
    counted: int
    """Index of its `TagCount`, or -1."""
    hides: int
    role: int
    """Role of its content, e.g. TITLE; else NOTHING."""
    box: int
    """Box by which it is displayed without a style."""


def traits(tag: str) -> Traits:
    """Return the traits of an element."""
    kind = _KINDS.get(tag, BLOCK if tag in _KNOWN else CUSTOM)
    return Traits(
        kind=kind,
        edge=_EDGES.get(tag, Boundary.LINE).value,
        lists=_LISTS.get(tag, NOTHING),
        tables=_TABLES.get(tag, NOTHING),
        shift=_SHIFTS.get(tag, "\0"),
        opening=_SYMBOLS.get(tag, ("", ""))[0],
        closing=_SYMBOLS.get(tag, ("", ""))[1],
        joints=_JOINTS.get(tag, ""),
        phrasing=tag in _PHRASING,
        preformatted=tag in _PREFORMATTED,
        parts=_PARTS_OF_CODE.get(tag, "\0"),
        flag=int(_FLAGS.get(tag, 0)),
        heading=_HEADINGS.get(tag, 0),
        counted=int(_COUNTS.get(tag, -1)),
        hides=_HIDES.get(tag, BY_ATTRIBUTE),
        role=_ROLES.get(tag, NOTHING),
        box=_BOXES.get(tag, BLOCK_BOX if kind == BLOCK else LINE_BOX),
    )
