"""Whether a Redis is set up for sites that grow in number, by what it tells of its memory."""

from collections.abc import Mapping

from dehusk.streams.settings import MIB

HOW_TO_BOUND = "set maxmemory to what it may take, and maxmemory-policy to volatile-lru"
"""What makes Redis forget the sites that were not asked for the longest, each as a whole."""
_KEEPS_ALL = "noeviction"


def memory_advice(server: Mapping[str, object]) -> str | None:
    """What to set, by the section `memory` of INFO; None where nothing is to be said.

    A server that hides its settings is taken to be set by those who run it.
    """
    limit, policy = server.get("maxmemory"), server.get("maxmemory_policy")
    if not isinstance(limit, int):
        return None
    if limit == 0:
        return f"Redis has no maxmemory: it grows with every new site; {HOW_TO_BOUND}"
    if policy == _KEEPS_ALL:
        return (
            f"Redis has {limit / MIB:,.0f} MiB and forgets no site when they are full: then pages go "
            f"without statistics; {HOW_TO_BOUND}"
        )
    return None
