"""Whether a Redis is set up for sites that grow in number, by what it tells of its memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dehusk.streams.settings import MIB

HOW_TO_BOUND = "set maxmemory to what it may take, and maxmemory-policy to volatile-lru"
"""What makes Redis forget the sites that were not asked for the longest, each as a whole."""
_KEEPS_ALL = "noeviction"


@dataclass(frozen=True, slots=True)
class ServerUse:
    """What servers hold, in bytes, and have been asked for since they started."""

    memory: int
    most_memory: int
    """0 where one of them has no limit, or hides it."""
    hits: int
    """Lookups that found something."""
    misses: int


def server_use(memory: Sequence[Mapping[str, object]], stats: Sequence[Mapping[str, object]]) -> ServerUse:
    """What servers together hold, by the sections `memory` and `stats` of INFO of each."""
    limits = [_number(server, "maxmemory") for server in memory]
    return ServerUse(
        sum(_number(server, "used_memory") for server in memory),
        sum(limits) if all(limits) else 0,
        sum(_number(server, "keyspace_hits") for server in stats),
        sum(_number(server, "keyspace_misses") for server in stats),
    )


def _number(server: Mapping[str, object], name: str) -> int:
    value = server.get(name)
    return value if isinstance(value, int) else 0


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
