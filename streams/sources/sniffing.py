"""Recognition of pages and of other files by their bytes, whatever is declared of them."""

import re

from dehusk.streams.sources.encoding import encode_text

MARKUP = re.compile(
    rb"<(?:!--|(?:!doctype\s+html|html|head|body|title|meta|link|script|style|div|span|p|a|b|i|br|h[1-6]|table|tr|td|"
    rb"ul|ol|li|img|font|center|article|section|main|header|nav|footer|iframe|form|noscript|base|svg)[\s/>])",
    re.IGNORECASE,
)
WHOLE_PAGE = re.compile(rb"\s*<(?:!doctype|html)[\s>]", re.IGNORECASE)
_OTHER_XML = re.compile(
    rb"(?>\s|<\?.*?\?>|<!--.*?-->|<!(?!--|doctype\s+html)[^>]*>)*+<(?P<root>rss|feed|rdf:rdf|urlset|sitemapindex|svg)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
"""Feeds, site maps and images, which servers often send as HTML (the MIME Sniffing standard, section 7.3)."""
_BEHIND_DRAWING = re.compile(rb"</svg\s*>\s*<[/a-z]", re.IGNORECASE)
"""End of a drawing that is a part of a page: no element follows the root of an image."""
SNIFFED = 2048
"""Bytes from the start of a content that are looked at."""
BLANK = b"\xef\xbb\xbf\t\n\r\x0c "
"""Bytes that may stand before the markup of a page."""
_OTHER_FORMATS = {
    b"%PDF-": "a PDF",
    b"%!PS-Adobe-": "PostScript",
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"GIF87a": "a GIF image",
    b"GIF89a": "a GIF image",
    b"\xff\xd8\xff": "a JPEG image",
    b"RIFF": "a RIFF file",
    b"PK\x03\x04": "a zip archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"\x7fELF": "a program",
    b"OggS": "an Ogg file",
    b"ID3": "an MP3 file",
    b"{\\rtf": "an RTF document",
    b"\xd0\xcf\x11\xe0": "an Office document",
    b"\x1aE\xdf\xa3": "a WebM video",
    b"wOFF": "a web font",
    b"wOF2": "a web font",
    b"OTTO\0": "an OpenType font",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"II*\0": "a TIFF image",
    b"MM\0*": "a TIFF image",
    b"\0asm": "a WebAssembly module",
    b"\0\0\0\x0cjP  \r\n": "a JPEG 2000 image",
    b"\0\0\0\x0cJXL \r\n": "a JPEG XL image",
    b"\0\1\0\0Standard ": "an Access database",
    b"\0\5\x16\7\0\2\0\0": "an AppleDouble file",
    b"\0\0\0\1Bud1": "a folder of the Finder",
}
_STRUCTURES = {
    kind: re.compile(start, re.DOTALL)
    for kind, start in {
        "an icon": (
            rb"\0\0\x01\0(?:[\x01-\xff]\0|.[\x01-\x0f])...[\0\xff][\0\x01]\0[\0\x01\x04\x08\x10\x18\x20]\0"
            rb"...\0..[\0-\x0f]\0"
        ),
        "a cursor": rb"\0\0\x02\0[\x01-\xff]\0...[\0\xff].\0.\0...\0..\0\0",
        "a TGA image": rb"\0\0[\x02\x0a]\0{9}",
        "an MPEG-4 file": rb"\0...(?:ftyp|styp|moov|moof|mdat|sidx|ssix|emsg|wide|free|skip)",
        "an MPEG program stream": (
            rb"\0\0\x01\xba(?:[\x21-\x2f].{7}|[\x44-\x7f].{8}[\xf8-\xff]\xff{0,7})\0\0\x01[\xb9-\xff]"
        ),
        "an MPEG video": rb"\0\0\x01\xb3...[\x11-\xe8]....(?:.{64}){0,2}\0\0\x01[\xb2\xb5\xb8]",
        "an H.264 video": (
            rb"\0{2,3}\x01(?:\x09[\x10\x30\x50\x70\x90\xb0\xd0\xf0]\0{2,3}\x01)?"
            rb"[\x27\x47\x67][\x2c\x42\x4d\x53\x56\x58\x64\x6e\x76\x7a\x80\xf4].[\x09-\x3e].{1,250}?"
            rb"\0\0\x01[\x28\x48\x68]"
        ),
        "an H.265 video": (
            rb"\0{2,3}\x01(?:\x46\x01[\x10\x30\x50]\0{2,3}\x01)?\x40\x01\x0c[\0-\x0f]\xff\xff"
        ),
        "a TrueType font": rb"\0\x01\0\0\0[\x01-\x7f][\0-\x10][\0\x10\x20\x40\x80]\0[\0-\x07]",
    }.items()
}
"""Formats whose mark a frame of a schema registry could begin with, too, by more of their headers."""


def other_format(content: bytes | str) -> str | None:
    """Name the other format whose first bytes a content has, whatever its content type says; else None."""
    head = _start(content)
    xml = _OTHER_XML.match(head.removeprefix(b"\xef\xbb\xbf"))
    if xml and not (xml["root"].lower() == b"svg" and _BEHIND_DRAWING.match(_behind_drawings(content))):
        return f"XML of {xml['root'].decode()}"
    marked = next((kind for mark, kind in _OTHER_FORMATS.items() if head.startswith(mark)), None)
    return marked or next((kind for kind, start in _STRUCTURES.items() if start.match(head)), None)


def _start(content: bytes | str) -> bytes:
    return encode_text(content[:SNIFFED]) if isinstance(content, str) else content[:SNIFFED]


def _behind_drawings(content: bytes | str) -> bytes:
    """Return what begins with the end of the last drawing; empty if none ends."""
    last = content.rfind("</svg") if isinstance(content, str) else content.rfind(b"</svg")
    return _start(content[last:]) if last >= 0 else b""


def looks_like_html(head: bytes) -> bool:
    """Return True if the start of something is markup of a page, and not of a feed or another kind of XML."""
    head = head[:SNIFFED].lstrip(BLANK)
    has_markup = MARKUP.search(head) is not None
    is_xml = head.startswith(b"<?xml") or head[:4] in (b"<rss", b"<svg")
    return has_markup and (not is_xml or b"<html" in head.lower())
