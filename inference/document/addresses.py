"""Addresses of a page's links and images: absolute, of safe schemes and spelled plainly, to be published."""

import re
from urllib.parse import quote, urljoin, urlsplit

from dehusk.inference.metadata.values import with_slashes

_SCHEMES = frozenset({"mailto", "tel"})
_WITH_HOST = frozenset({"http", "https", "ftp"})
_IMAGE_SCHEMES = frozenset({"http", "https", ""})
_AROUND = "".join(map(chr, range(0x21)))
_IN_BETWEEN = re.compile(r"[\t\n\r]")
_UNSAFE = re.compile(
    r"""[\x00-\x20\x7f-\xa0"<>\\^`{|}()\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"""
)
_PLAIN = re.compile(
    r"(?:https?://[a-z0-9.-]+(?=[/?#]|\Z)|(?=/(?!/)))(?!.*/\.)[!#$%&'*+,./0-9:;=?@A-Z_a-z~-]*", re.ASCII
)
"""An absolute address of the web, or one of the same host, that needs no change."""
_RELATIVE = re.compile(r"(?!//)[^:\\/?#]*(?:[/?#][^\\]*)?")
"""An address without a scheme and a host: a colon stands behind what begins a path, a query or a fragment."""


class Addresses:
    """Resolver of a page's addresses; each is checked once."""

    def __init__(self, url: str, base: str) -> None:
        candidates = (_joined(url, _bare(base)), _joined("", url))
        self._base = next((each for each in candidates if each and _is_safe(each)), "")
        scheme, host, *_ = urlsplit(self._base)
        self._origin = f"{scheme}://{host}" if scheme in _IMAGE_SCHEMES and host else ""
        self._known: dict[str, str | None] = {}

    def of_link(self, address: str) -> str | None:
        """Return the absolute address of a link, or None for one that no reader may follow."""
        if address not in self._known:
            self._known[address] = self._safe(address)
        return self._known[address]

    def of_image(self, address: str) -> str | None:
        """Return the absolute address of an image, or None if its scheme is none of a web server."""
        resolved = self.of_link(address)
        return resolved if resolved is not None and urlsplit(resolved).scheme in _IMAGE_SCHEMES else None

    def _safe(self, address: str) -> str | None:
        if _PLAIN.fullmatch(address) and (self._origin or address[0] != "/"):
            return self._origin + address if address[0] == "/" else address
        bare = with_slashes(_bare(address))
        joined = _joined(self._base, bare)
        if not joined:
            return None
        if not _is_safe(joined) and (self._base or not _RELATIVE.fullmatch(joined)):
            return None
        return _UNSAFE.sub(lambda unsafe: quote(unsafe[0], safe=""), joined)


def _bare(address: str) -> str:
    """Return an address without the characters that browsers leave out of it."""
    return _IN_BETWEEN.sub("", address.strip(_AROUND))


def _joined(base: str, address: str) -> str | None:
    try:
        joined = urljoin(base, address)
        urlsplit(joined)
    except ValueError:  # such as an unfinished IPv6 address
        return None
    return joined


def _is_safe(address: str) -> bool:
    """Return True if an address is absolute, and of a scheme that only shows a page or writes to somebody."""
    scheme, host, *_ = urlsplit(address)
    return scheme in _SCHEMES or (scheme in _WITH_HOST and bool(host))
