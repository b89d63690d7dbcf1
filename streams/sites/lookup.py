"""Sites by the names that people type."""

from difflib import get_close_matches

from dehusk.inference.sites import site_of
from dehusk.streams.sites.catalogue import Catalogue

_MOST_COMPARED = 100_000
"""Sites that are looked through for a name that is near."""
_MOST_NEAR = 3


def named(text: str) -> str:
    """The site that a text names: a URL, a host however it is written, or what `--site-key` makes of one."""
    if "://" in text:
        return site_of(text)
    return text if text.startswith(".") or "/" in text else site_of(f"//{text}") or text


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
