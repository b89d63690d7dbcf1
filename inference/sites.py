"""Which site a URL belongs to, and what is kept of a page beside its blocks."""

from urllib.parse import urlsplit

from schemas.pages import PageIdentity, RawPage


def site_of(url: str) -> str:
    """The host of a URL, lower case, without port and `www.`; empty where the URL has none."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return host.removesuffix(".").removeprefix("www.")


def primary_language(tag: str | None) -> str | None:
    """The primary subtag of a language tag, or of the first in a list: `en` of `en-GB, fr`."""
    language = (tag or "").replace("_", "-").split(",")[0].split("-")[0].strip().lower()
    return language if language.isalpha() and language.isascii() and len(language) <= 8 else None


def identify(page: RawPage) -> PageIdentity:
    """What is kept of a page when its HTML is let go."""
    return PageIdentity(
        id=page.id or page.url,
        url=page.url,
        site=site_of(page.url),
        fetched_at=page.fetched_at,
        language=primary_language(page.language),
        raw_length=len(page.html),
    )
