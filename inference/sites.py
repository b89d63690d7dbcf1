"""Which site a URL belongs to, and what is kept of a page beside its blocks."""

import unicodedata
from collections.abc import Callable
from enum import StrEnum
from urllib.parse import urlsplit

from dehusk.inference.language_codes import primary_language
from dehusk.schemas.pages import PageIdentity, RawPage

NameSite = Callable[[str], str]
"""The name of the site of a URL; empty where the URL has no host: then the page is of no site."""
_IDEOGRAPHIC_STOP = "\u3002"
"""Parts the labels of a host as a point does."""


class SiteKey(StrEnum):
    """Which pages are of one site: their statistics are counted together.

    The same site has another name by each key, but where the pages are the same ones: statistics that were
    counted by different keys do not mix.
    """

    HOST = "host"
    """Those of a host: `blog.example.org`."""
    DOMAIN = "domain"
    """Those of all hosts of a registrable domain: `.example.org`."""
    PATH = "path"
    """Those in a folder at the top of a host: `example.org/blog`; `example.org/` are those in none."""


def open_naming(key: SiteKey) -> NameSite:
    """How the sites of URLs are named."""
    if key is SiteKey.PATH:
        return _folder_of
    if key is SiteKey.DOMAIN:
        from dehusk.inference.domains import registrable_domain  # noqa: PLC0415 it loads a list that few need

        def domain_of(url: str) -> str:
            domain = registrable_domain(host_of(url))
            return f".{domain}" if domain else site_of(url)

        return domain_of
    return site_of


def key_of(name: str) -> SiteKey:
    """By which key a site has its name; what has no registrable domain has the same by host and by domain."""
    if name.startswith("."):
        return SiteKey.DOMAIN
    return SiteKey.PATH if "/" in name else SiteKey.HOST


def site_of(url: str) -> str:
    """The host of a URL, as `host_of` spells it, without `www.`; empty where the URL has none."""
    return host_of(url).removeprefix("www.")


def _folder_of(url: str) -> str:
    """The host, and the first folder of the path."""
    host = site_of(url)
    if not host:
        return ""
    folder, slash, _ = urlsplit(url).path.removeprefix("/").partition("/")
    return f"{host}/{folder}" if slash else f"{host}/"


def host_of(url: str) -> str:
    """The host of a URL in its one spelling: lower case, Punycode, without port; empty where it has none."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return (host if host.isascii() else _in_punycode(host)).strip(".")


def _in_punycode(host: str) -> str:
    """A host as browsers send it: `xn--mnchen-3ya.de` for `münchen.de`."""
    folded = unicodedata.normalize("NFKC", host.replace(_IDEOGRAPHIC_STOP, ".")).lower()
    return ".".join(
        label if label.isascii() else f"xn--{label.encode('punycode').decode()}"
        for label in folded.split(".")
    )


def identify(page: RawPage, name_site: NameSite = site_of) -> PageIdentity:
    """What is kept of a page when its HTML is let go."""
    return PageIdentity(
        id=page.name,
        url=page.url,
        site=name_site(page.url),
        fetched_at=page.fetched_at,
        language=primary_language(page.language),
        raw_length=len(page.html),
    )
