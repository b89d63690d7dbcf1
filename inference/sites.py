"""The site of a URL, and the identity of a page without its HTML."""

import unicodedata
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dehusk.inference.language_codes import language_tag
from dehusk.schemas.pages import PageIdentity, RawPage

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

NameSite = Callable[[str], str]
"""Function that returns the name of the site of a URL; empty for one without a host, which is of no site."""
_IDEOGRAPHIC_STOP = "\u3002"
"""Separator of a host's labels, like a full stop."""


class SiteKey(StrEnum):
    """Granularity of sites; the pages of a site are counted together.

    The same site has another name by each key, unless its pages are the same by both, so statistics by
    different keys do not mix.
    """

    HOST = "host"
    """A host: `blog.example.org`."""
    DOMAIN = "domain"
    """All hosts of a registrable domain: `.example.org`."""
    PATH = "path"
    """A folder at the top of a host: `example.org/blog`; pages in none are of `example.org/`."""


def open_naming(key: SiteKey) -> NameSite:
    """Return the function that names the sites of URLs."""
    return {SiteKey.HOST: site_of, SiteKey.DOMAIN: _domain_of, SiteKey.PATH: _folder_of}[key]


def key_of(name: str) -> SiteKey:
    """Return the key that a site is named by; without a registrable domain, both host and domain fit."""
    if name.startswith("."):
        return SiteKey.DOMAIN
    return SiteKey.PATH if "/" in name else SiteKey.HOST


def site_of(url: str) -> str:
    """Return the host of a URL, as `host_of` spells it, without `www.`; empty if it has none."""
    return host_of(url).removeprefix("www.")


def _domain_of(url: str) -> str:
    domain = registrable_domain(host_of(url))
    return f".{domain}" if domain else site_of(url)


def _folder_of(url: str) -> str:
    host = site_of(url)
    if not host:
        return ""
    folder, slash, _ = urlsplit(url).path.removeprefix("/").partition("/")
    return f"{host}/{folder}" if slash else f"{host}/"


def host_of(url: str) -> str:
    """Return the host of a URL in lower case and Punycode, without port; empty if it has none."""
    try:
        host = urlsplit(url).hostname or ""
        if not host.isascii():  # and may be none by its ASCII characters
            host = urlsplit(f"//{_in_punycode(host)}").hostname or ""
    except ValueError:
        return ""
    return host.strip(".")


def _in_punycode(host: str) -> str:
    """Return a host as browsers send it: `xn--mnchen-3ya.de` for `münchen.de`."""
    folded = unicodedata.normalize("NFKC", host.replace(_IDEOGRAPHIC_STOP, ".")).lower()
    return ".".join(
        label if label.isascii() else f"xn--{label.encode('punycode').decode()}"
        for label in folded.split(".")
    )


def identify(page: RawPage, name_site: NameSite = site_of) -> PageIdentity:
    """Return the identity of a page, which is kept without its HTML."""
    return PageIdentity(
        id=page.name,
        url=page.url,
        site=name_site(page.url),
        fetched_at=page.fetched_at,
        language=language_tag(page.language),
        raw_length=len(page.html),
    )


def registrable_domain(host: str) -> str | None:
    """Return the public suffix of a host and the label before it: `example.co.uk` of `shop.example.co.uk`.

    Private suffixes are public ones, too: `me.github.io` is a domain. Return None for an IP address, a public
    suffix, a host of one label or with empty labels.
    """
    if ":" in host or host.rpartition(".")[2].isdecimal():
        return None
    return _suffixes().privatesuffix(host)


@cache
def _suffixes() -> "PublicSuffixList":
    """Return the Public Suffix List of its package: nothing is downloaded."""
    from publicsuffixlist import PublicSuffixList  # noqa: PLC0415 its list is loaded only where it is used

    return PublicSuffixList()
