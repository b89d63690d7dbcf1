"""What is said of a Redis whose memory is not set up for many sites."""

import pytest

from dehusk.streams.settings import MIB
from dehusk.streams.sites.server_memory import ServerUse, memory_advice, server_use


@pytest.mark.parametrize("policy", ["volatile-lru", "allkeys-lru", "volatile-ttl", "allkeys-lfu"])
def test_nothing_is_said_of_a_server_that_forgets_sites(policy: str) -> None:
    assert memory_advice({"maxmemory": 512 * MIB, "maxmemory_policy": policy}) is None


def test_a_server_that_forgets_nothing_is_told_of_with_what_to_set() -> None:
    advice = memory_advice({"maxmemory": 1536 * MIB, "maxmemory_policy": "noeviction"})
    assert advice is not None
    assert "1,536 MiB" in advice
    assert "maxmemory-policy to volatile-lru" in advice


def test_a_server_without_bound_is_told_of() -> None:
    advice = memory_advice({"maxmemory": 0, "maxmemory_policy": "noeviction"})
    assert advice is not None
    assert "no maxmemory" in advice


def test_nothing_is_said_of_a_server_that_hides_its_settings() -> None:
    assert memory_advice({"used_memory": 1}) is None


def test_the_use_of_all_servers_is_summed() -> None:
    memory = [{"used_memory": 5, "maxmemory": 50}, {"used_memory": 7, "maxmemory": 60}]
    stats = [{"keyspace_hits": 1, "keyspace_misses": 2}, {"keyspace_hits": 3, "keyspace_misses": 4}]
    assert server_use(memory, stats) == ServerUse(12, 110, 4, 6)


@pytest.mark.parametrize("limit", [{"maxmemory": 0}, {}])
def test_servers_of_which_one_has_no_limit_have_none(limit: dict[str, int]) -> None:
    assert server_use([{"maxmemory": 50}, limit], []) == ServerUse(0, 0, 0, 0)
