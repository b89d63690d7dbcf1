"""The encoding that a page declares in its first bytes: the prescan of the HTML standard (13.2.3.2)."""

import re

import webencodings

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
    """The standard's name of the encoding that the first bytes declare, in a `<meta>` or as XML."""
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
    """The attributes of the tag in whose name this is, and where it ends; none if it does not end."""
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
    """What a `<meta>` with these attributes declares."""
    if b"charset" in attributes:
        return _readable(attributes[b"charset"])
    if attributes.get(b"http-equiv") != b"content-type":
        return None
    charset = _CHARSET.search(attributes.get(b"content", b""))
    return _readable(charset["double"] or charset["single"] or charset["bare"] or b"") if charset else None


def _readable(label: bytes) -> str | None:
    """What a label can mean that was read as ASCII: not UTF-16, whatever it says."""
    found = webencodings.lookup(label.decode("latin-1"))
    if found is None:
        return None
    if found.name in {"utf-16be", "utf-16le"}:
        return "utf-8"
    return "windows-1252" if found.name == "x-user-defined" else str(found.name)
