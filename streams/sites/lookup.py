"""Sites by the names that people type."""

from difflib import get_close_matches

from dehusk.inference.sites import SiteKey, host_of, open_naming
from dehusk.streams.sites.catalogue import Catalogue

_MOST_COMPARED = 100_000
"""Sites that are looked through for a name that is near."""
_MOST_NEAR = 3


def names(text: str) -> list[str]:
    """The names, one by each `SiteKey`, of the site that a URL or a host is of, however it is written.

    Of what is a name already, by whatever key, that comes first, or stands alone.
    """
    if is_url(text):
        return _by_each_key(text) or [text]
    if text.startswith("."):
        return [f".{host_of(f'//{text}') or text[1:]}"]
    host, slash, folder = text.partition("/")
    found = _by_each_key(f"//{host}") or [host]
    return [f"{found[0]}/{folder}"] if slash else found


def is_url(text: str) -> bool:
    """Whether a text is a URL: no site has such a name."""
    return "://" in text


async def near(name: str, catalogue: Catalogue) -> list[str]:
    """Sites whose names are nearly this one, the nearest first. Raises what `Catalogue.names` raises."""
    found: list[str] = []
    compared = 0
    async for sites in catalogue.names():
        names = [site for site in sites if isinstance(site, str)]
        found = get_close_matches(name, {*found, *names}, _MOST_NEAR)
        compared += len(names)
        if compared >= _MOST_COMPARED:
            break
    return found


def _by_each_key(url: str) -> list[str]:
    """The different names of the site of a URL; none if it has no host."""
    found = (open_naming(key)(url) for key in SiteKey)
    return list(dict.fromkeys(name for name in found if name))
