"""The encoding that a page declares in its first bytes: the prescan of the HTML standard (13.2.3.2)."""

import re

import webencodings

_PRESCANNED = 1024
_WHITE = b"\t\n\x0c\r "
_TAG_NAME_ENDS = re.compile(rb"[\t\n\x0c\r />]")
_CHARSET = re.compile(rb"charset[\t\n\x0c\r ]*=[\t\n\x0c\r ]*", re.IGNORECASE)
_UNQUOTED = re.compile(rb"[^\t\n\x0c\r ;]*")


def prescan(body: bytes) -> str | None:
    """The standard's name of the encoding that a `<meta>` in the first 1024 bytes declares, if one does."""
    return _Prescan(body[:_PRESCANNED]).encoding()


class _Prescan:
    """The bytes that are scanned, and how far."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def encoding(self) -> str | None:
        while (start := self._data.find(b"<", self._at)) >= 0:
            self._at = start + 1
            rest = self._data[self._at : self._at + 5]
            if rest.startswith(b"!--"):
                self._skip_to(b"-->", start + 2)
            elif rest[:4].lower() == b"meta" and rest[4:5] in (*map(bytes, zip(_WHITE, strict=True)), b"/"):
                self._at += 5
                if found := self._meta():
                    return found
            elif re.match(rb"/?[A-Za-z]", rest):
                self._skip_tag()
            elif rest[:1] in (b"!", b"/", b"?"):
                self._skip_to(b">", self._at)
        return None

    def _skip_to(self, end: bytes, start: int) -> None:
        found = self._data.find(end, start)
        self._at = len(self._data) if found < 0 else found + len(end)

    def _skip_tag(self) -> None:
        name = _TAG_NAME_ENDS.search(self._data, self._at)
        self._at = name.start() if name else len(self._data)
        while self._attribute():
            pass

    def _meta(self) -> str | None:
        """The encoding that the `<meta>` declares, whose attributes stand here."""
        attributes: dict[bytes, bytes] = {}
        while attribute := self._attribute():
            attributes.setdefault(*attribute)
        label: bytes | None = attributes.get(b"charset")
        if label is None and attributes.get(b"http-equiv") == b"content-type":
            label = _charset_in(attributes.get(b"content", b""))
        return _declared(label) if label is not None else None

    def _attribute(self) -> tuple[bytes, bytes] | None:
        """The name and value of the next attribute, lower case, or None at the end of the tag."""
        self._skip(_WHITE + b"/")
        if self._byte() in (b">", b""):
            return None
        start = self._at
        while (byte := self._byte()) not in (b"", b"/", b">") and byte not in _WHITE:
            if byte == b"=" and self._at > start:
                break
            self._at += 1
        name = self._data[start : self._at].lower()
        self._skip(_WHITE)
        if self._byte() != b"=":
            return name, b""
        self._at += 1
        self._skip(_WHITE)
        return name, self._value().lower()

    def _value(self) -> bytes:
        quote = self._byte()
        if quote in (b'"', b"'"):
            start = self._at + 1
            end = self._data.find(quote, start)
            self._at = len(self._data) if end < 0 else end + 1
            return self._data[start : len(self._data) if end < 0 else end]
        start = self._at
        while (byte := self._byte()) not in (b"", b">") and byte not in _WHITE:
            self._at += 1
        return self._data[start : self._at]

    def _skip(self, these: bytes) -> None:
        while (byte := self._byte()) and byte in these:
            self._at += 1

    def _byte(self) -> bytes:
        return self._data[self._at : self._at + 1]


def _charset_in(content: bytes) -> bytes | None:
    """The charset in the `content` of a `<meta http-equiv=content-type>`, if there is one."""
    found = _CHARSET.search(content)
    if not found:
        return None
    rest = content[found.end() :]
    if rest[:1] in (b'"', b"'"):
        end = rest.find(rest[:1], 1)
        return rest[1:end] if end > 0 else None
    match = _UNQUOTED.match(rest)
    return match[0] if match else None


def _declared(label: bytes) -> str | None:
    """What a `<meta>` can mean: it was read as ASCII, so it is not in UTF-16, whatever it says."""
    found = webencodings.lookup(label.decode("latin-1"))
    if found is None:
        return None
    if found.name in ("utf-16be", "utf-16le"):
        return "utf-8"
    return "windows-1252" if found.name == "x-user-defined" else str(found.name)
