"""The character encoding of a page, in the order of authority of the HTML standard (section 13.2.3).

A byte order mark wins over the transport's declaration, that over the page's own `<meta>`, and a page that
declares nothing is looked at for what it could be. So is one whose bytes belie what it declares, where the
standard would destroy its text: UTF-8 under another name, and what is called UTF-8 and is not.
"""

import codecs
import re
from dataclasses import dataclass

import chardetng_py  # type: ignore[import-untyped]
import webencodings

from dehusk.inference.native.scanning import is_utf8
from dehusk.streams.sources import legacy

PRESCANNED = 1024

_SPECIAL = re.compile(
    rb"<(?:(?P<comment>!--)|(?P<meta>meta)(?=[\t\n\x0c\r /])|(?P<tag>/?[a-z])|[!/?])", re.IGNORECASE
)
_NAME_END = re.compile(rb"[\t\n\x0c\r />]")
_ATTRIBUTE = re.compile(
    rb"[\t\n\x0c\r /]*(?P<name>[^\t\n\x0c\r />][^\t\n\x0c\r />=]*)"
    rb"(?:[\t\n\x0c\r ]*=[\t\n\x0c\r ]*"
    rb"(?:\"(?P<double>[^\"]*)(?:\"|\Z)|'(?P<single>[^']*)(?:'|\Z)|(?P<bare>[^\t\n\x0c\r >]*)))?"
)
_TAG_END = re.compile(rb"[\t\n\x0c\r /]*>")
_CHARSET = re.compile(
    rb"charset[\t\n\x0c\r ]*=[\t\n\x0c\r ]*"
    rb"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\"'\t\n\x0c\r ;][^\t\n\x0c\r ;]*))",
    re.IGNORECASE,
)
_XML_DECLARATION = re.compile(
    rb"<\?xml[^>]*?encoding[\0-\x20]*=[\0-\x20]*(?P<quote>[\"'])(?P<label>[^\0-\x20>]*?)(?P=quote)"
)


def prescan(body: bytes, length: int = PRESCANNED) -> str | None:
    """Return the standard's name of the encoding that the first bytes declare, in a `<meta>` or as XML."""
    head = body[:length]
    return _in_meta(head) or _in_xml_declaration(head)


def _in_meta(head: bytes) -> str | None:
    at = 0
    while special := _SPECIAL.search(head, at):
        if special["comment"]:
            at = _after(head, b"-->", special.start() + 2)
        elif special["meta"] or special["tag"]:
            attributes, at = _attributes(head, special.end())
            if special["meta"] and attributes and (name := _declared(attributes)):
                return name
        else:
            at = _after(head, b">", special.end())
    return None


def _in_xml_declaration(head: bytes) -> str | None:
    declaration = _XML_DECLARATION.match(head)
    return _readable(declaration["label"]) if declaration else None


def _after(head: bytes, end: bytes, start: int) -> int:
    found = head.find(end, start)
    return len(head) if found < 0 else found + len(end)


def _attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """Return the attributes of the tag in whose name this is, and its end; none if it does not end."""
    attributes: dict[bytes, bytes] = {}
    name_end = _NAME_END.search(head, at)
    at = name_end.start() if name_end else len(head)
    while attribute := _ATTRIBUTE.match(head, at):
        value = attribute["double"] or attribute["single"] or attribute["bare"] or b""
        attributes.setdefault(attribute["name"].lower(), value.lower())
        at = attribute.end()
    end = _TAG_END.match(head, at)
    return (attributes, end.end()) if end else ({}, len(head))


def _declared(attributes: dict[bytes, bytes]) -> str | None:
    """Return the encoding that a `<meta>` with these attributes declares."""
    if b"charset" in attributes:
        return _readable(attributes[b"charset"])
    if attributes.get(b"http-equiv") != b"content-type":
        return None
    charset = _CHARSET.search(attributes.get(b"content", b""))
    return _readable(charset["double"] or charset["single"] or charset["bare"] or b"") if charset else None


def _readable(label: bytes) -> str | None:
    """Return the encoding of a prescanned label; UTF-16 becomes UTF-8, as in the standard."""
    found = webencodings.lookup(label.decode("latin-1"))
    if found is None:
        return None
    if found.name in {"utf-16be", "utf-16le"}:
        return "utf-8"
    return "windows-1252" if found.name == "x-user-defined" else str(found.name)


_FALLBACK = "windows-1252"
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_BE, "utf-16be"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
)
_NOT_ASCII_COMPATIBLE = {"utf-16be", "utf-16le", "replacement", "iso-2022-jp"}
_SAMPLE = 1 << 16
"""Bytes that detection looks at, from shortly before the first one that is not ASCII."""
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_SEVERAL_CHARACTERS = re.compile(rb"[\xc2-\xf4][^\xc2-\xf4]*[\xc2-\xf4]")
"""In valid UTF-8, characters beyond ASCII that are too many to be legacy text by chance."""
_MAX_STRAY_ERRORS = 2
"""Broken places up to which a page that declares UTF-8 is taken for it."""
_BROKEN_PLACE = re.compile("[\udc80-\udcff]{1,4}")
"""Adjacent bytes that make no character: no more of them than one may have, for whole words are no slip."""
_MARKUP = re.compile(
    rb"<(?:!--.*?(?:-->|\Z)|[!?][^>]*+(?:>|\Z)|(?P<raw>script|style)\b.*?(?:</(?P=raw)|\Z)"
    rb"|/?[a-z](?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\"'>])*+(?:>|\Z))",
    re.DOTALL | re.IGNORECASE,
)
"""The parts of a page that are no text."""
_UTF16_MARKUP = re.compile(rb"(?P<le>(?:[\t\n\f\r ]\0)*<\0)|(?P<be>(?:\0[\t\n\f\r ])*\0<)")


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A page as text."""

    html: bytes
    """In UTF-8 without a byte order mark; U+FFFD stands where the page's bytes made no character."""
    encoding: str
    """The name, in the Encoding standard, of what the page was decoded from."""


@dataclass(frozen=True, slots=True)
class _Utf8Errors:
    """Counts of the characters beyond ASCII that a reader of UTF-8 finds in a text."""

    broken: int
    """U+FFFD that the standard puts for broken characters."""
    whole: int
    places: int
    """Broken places: adjacent bytes are one."""

    @property
    def is_minor(self) -> bool:
        """True if most is whole."""
        return self.broken <= self.whole

    @property
    def is_negligible(self) -> bool:
        """True if so few places are broken that the encoding is not in doubt."""
        return (self.places if self.whole else self.broken) <= _MAX_STRAY_ERRORS


def decode_html(body: bytes, declared: str | None = None) -> DecodedText:
    """Decode the body of an answer; `declared` is the label that the transport gave, if any.

    U+0000 stays: what it becomes depends on where it stands, which the parser knows.
    """
    for mark, marked in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return _decode(body[len(mark) :], marked)
    name = encoding_of(declared) or prescan(body) or _utf16_by_markup(body)
    if name in _NOT_ASCII_COMPATIBLE:
        return _decode(body, name)
    if not is_utf8(body):
        return _decode(body, _encoding_of_invalid_utf8(body, name))
    if name in (None, "utf-8") or (not body.isascii() and _SEVERAL_CHARACTERS.search(body)):
        return DecodedText(body, "utf-8")
    return _decode(body, name)


def encode_text(text: str) -> bytes:
    """Encode text in UTF-8; a lone surrogate, which UTF-8 cannot encode, becomes U+FFFD."""
    text = text.removeprefix("\ufeff")
    try:
        return text.encode()
    except UnicodeEncodeError:
        pairs_joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return pairs_joined.encode()


def encoding_of(label: str | None) -> str | None:
    """Return the standard's name of the encoding that a label stands for; None if it stands for none."""
    found = webencodings.lookup(label) if label and label.isascii() else None
    return found.name if found else None


def _decode(body: bytes, name: str) -> DecodedText:
    if name not in _NOT_ASCII_COMPATIBLE and body.isascii():
        return DecodedText(body, name)
    if name == "utf-8" and is_utf8(body):
        return DecodedText(body, name)
    if name == "replacement":
        return DecodedText("\ufffd".encode(), name)
    return DecodedText(encode_text(legacy.decode(body, name)), name)


def _encoding_of_invalid_utf8(body: bytes, declared: str | None) -> str:
    """Return the encoding of a page that is not valid UTF-8, whose first bytes declare this one or none.

    If most characters of its text are whole, or few are broken of what is called UTF-8, it is UTF-8 in spite
    of that. Else it is what a `<meta>` says, also one further on (a parser that comes upon it begins again),
    and what Firefox would take if none does.
    """
    if declared not in (None, "utf-8"):
        return declared
    text = _MARKUP.sub(b" ", body)
    errors = _utf8_errors(body if text.isascii() else text)
    if errors.is_minor or (declared and errors.is_negligible):
        return "utf-8"
    own = prescan(body, _SAMPLE)
    is_belied = own == "utf-8" and not errors.is_negligible
    return own if own and not is_belied else _detect(body)


def _detect(body: bytes) -> str:
    first = _BEYOND_ASCII.search(body)
    start = max(0, first.start() - _SAMPLE // 8) if first else 0
    return encoding_of(chardetng_py.detect(body[start : start + _SAMPLE])) or _FALLBACK


def _utf8_errors(text: bytes) -> _Utf8Errors:
    decoded = text.decode("utf-8", "replace")
    broken = decoded.count("\ufffd") - text.count("\ufffd".encode())
    whole = len(decoded) - len(decoded.encode("ascii", "ignore")) - broken
    places = len(_BROKEN_PLACE.findall(text.decode("utf-8", "surrogateescape")))
    return _Utf8Errors(broken, whole, places)


def _utf16_by_markup(body: bytes) -> str | None:
    utf16 = _UTF16_MARKUP.match(body)
    return ("utf-16le" if utf16["le"] else "utf-16be") if utf16 else None
