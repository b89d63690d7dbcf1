"""Legacy encodings as the Encoding standard decodes them: Python's codecs, and where these read otherwise.

Rare differences remain: the number of U+FFFD for bytes that make no character, two signs of Big5 (∕ and ﹨),
the tilde of JIS X 0212, and four bytes of Shift_JIS that are characters for private use here.
"""

import codecs
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

import webencodings

_SUBSTITUTES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "big5": ("•､‾∼♁☉¥¢£", "‧﹑¯～⊕⊙￥￠￡"),
        "euc-jp": ("〜‖−¢£¬", "～∥－￠￡￢"),
        "gb18030": (
            "\ue5e5\ue7c7\ue78d\ue78e\ue78f\ue790\ue791\ue792\ue793\ue794\ue795\ue796"
            "\ue81e\ue826\ue82b\ue82c\ue832\ue843\ue854\ue864",
            "\u3000ḿ︐︒︑︓︔︕︖︗︘︙龴龵龶龷龸龹龺龻",
        ),
        "koi8-u": ("╝╬", "ўЎ"),
    }
)
"""The characters that Python reads, and those that the standard does in their place."""
_BIG5 = """
    877a㡵𡵓𣚞𦀡㻬 87a1𥣞㫵竼龗𤅡𨤍𣇪𠪊𣉞䌊蒄龖鐯䤰蘓墖靊鈘秐稲晠
    87b6権袝瑌篅枂稬剏遆㓦珄𥶹瓆鿇垳䤯呌䄱𣚎堘穲𧭥 87cb讏䚮𦺈䆁𥶙箮𢒼鿈𢓁𢓉𢓌鿉蔄𣖻䂴鿊䓡𪷿拁灮鿋 8e69箸
    8e6f簆 8e7e糎 8eab緒 8eb4縝 8ecd者 8ed0耨 8f57菁 8f69蒨 8f6e萏 8fcb覦覩 8ffe起 906d都 907a銹 90dc靜
    90f1響 91bf鼖 9244蔃 92af兙兛兝兞 92c8鍮 92d1瑹 9447浧 94ca禛 95d9邗 9644靝 96ed瀞 96fc嬨 9b76爁 9b78矗
    9b7b纇 9bc6駖 9bde釔 9bec惞 9bf6澶 9c42輶 9c53侻 9c62營 9c68鄄 9c6b鷰 9c77菏 9cbc尐秣 9cd0婧 9d57輋
    9d5a筑 9dc4拐 9ea9恢 9eef痹 9efd汊 9f60鬮 9f66鼗 9fcb僭 9fd8弌 a063蠏 a077拎 a0d5瑨 a0df煢 a0e4牐
    a3c0␀␁␂␃␄␅␆␇␈␉␊␋␌␍␎␏␐␑␒␓␔ a3d5␕␖␗␘␙␚␛␜␝␞␟␡€ c6cf廴 c6d3无 c6d5癶 c6d7隶 c6de〃仝 fa5f倩 fa66偽 fabd包
    fac5卄 fad5卿 fb48嘅 fbb8婷 fbf3幵 fbf9廐 fc4f彘 fc6c悤 fcb9撐 fce2晴 fcf1杞 fdb7沜渝 fdbb港 fdf1煮
    fe52猪 fe6f瑜 feaa瓩 fedd砉
"""
"""Characters that Python does not read: the bytes of each, or of the first of a run."""
_MOST_UNREAD = 10_000
"""Most characters that Python does not read, of which each is looked at."""
_ESCAPE = re.compile(rb"\x1b(\([BJI]|\$[@B])")
_AS_EUC = bytes(0xFF if byte > 0x7F else byte | 0x80 if 0x20 < byte < 0x7F else byte for byte in range(256))
"""The bytes of characters in ISO-2022-JP, which have seven bits, as those in EUC-JP."""
_ROMAN = str.maketrans("\\~", "¥‾")


def decode(body: bytes, name: str) -> str:
    """Decode a body; `name` is the standard's. U+FFFD stands for bytes that make no character.

    It also stands for those that Python does not read, where they are very many: such a body has another
    encoding, and each costs a call.
    """
    if name == "iso-2022-jp":
        return _decode_iso_2022_jp(body)
    name = "gb18030" if name == "gbk" else name
    text, _ = webencodings.decode(body, name, "replace")
    handler = _error_handler(name)
    if handler is not None and 0 < text.count("\ufffd") <= _MOST_UNREAD:
        text, _ = webencodings.decode(body, name, handler)
    for read, meant in zip(*_SUBSTITUTES.get(name, ("", "")), strict=True):
        text = text.replace(read, meant)
    return text


def _decode_iso_2022_jp(body: bytes) -> str:
    """Decode text in which escape sequences name the characters of the bytes after them."""
    first, *others = _ESCAPE.split(body)
    escaped = (_decode_escaped(*pair) for pair in zip(others[::2], others[1::2], strict=True))
    return first.decode("ascii", "replace") + "".join(escaped)


def _decode_escaped(escape: bytes, text: bytes) -> str:
    match escape:
        case b"(B":
            return text.decode("ascii", "replace")
        case b"(J":
            return text.decode("ascii", "replace").translate(_ROMAN)
        case b"(I":
            return text.translate(_AS_EUC).decode("cp932", "replace")
    return decode(text.translate(_AS_EUC), "euc-jp")


def _error_handler(name: str) -> str | None:
    """Return the name of the handler of bytes that Python does not read; None if none are looked at."""
    name = "windows" if name.startswith("windows-") else name
    return f"dehusk-{name}" if name in _UNREAD else None


def _read_windows(byte: bytes) -> str:
    """Decode an unassigned byte of a Windows code page: a C1 control, or U+05BA."""
    if byte[0] < 0xA0:
        return chr(byte[0])
    return "\u05ba" if byte == b"\xca" else ""


def _read_euc_jp(pair: bytes) -> str:
    """Return a character such as ①, which Python has in Shift_JIS alone."""
    if len(pair) < 2 or not all(0xA1 <= byte <= 0xFE for byte in pair):
        return ""
    row, cell = pair[0] - 0x80, pair[1] - 0x80
    lead = (row + 1) // 2 + (0x70 if row < 0x5F else 0xB0)
    trail = cell + 0x1F + (cell >= 0x60) if row % 2 else cell + 0x7E
    text = bytes((lead, trail)).decode("cp932", "replace")
    return "" if "\ufffd" in text else text


def _expand_runs(table: str) -> dict[bytes, str]:
    characters: dict[bytes, str] = {}
    for run in table.split():
        first = int(run[:4], 16)
        characters |= {(first + at).to_bytes(2): character for at, character in enumerate(run[4:])}
    return characters


def _register(name: str, length: int, read: Callable[[bytes], str]) -> None:
    """Let `read` decode so many bytes that Python does not read; empty for no character."""

    def handle(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError):
            raise error
        text = read(error.object[error.start : error.start + length])
        return (text, error.start + length) if text else ("\ufffd", error.end)

    codecs.register_error(f"dehusk-{name}", handle)


_big5 = _expand_runs(_BIG5)
_UNREAD: Mapping[str, tuple[int, Callable[[bytes], str]]] = MappingProxyType(
    {
        "big5": (2, lambda pair: _big5.get(pair, "")),
        "euc-jp": (2, _read_euc_jp),
        "gb18030": (1, lambda byte: "€" if byte == b"\x80" else ""),
        "windows": (1, _read_windows),
    }
)
"""For each encoding, the number of bytes that Python does not read, and the function that reads them."""
for _name, (_length, _read) in _UNREAD.items():
    _register(_name, _length, _read)
