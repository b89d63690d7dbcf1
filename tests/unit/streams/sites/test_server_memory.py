"""What is said of a Redis whose memory is not set up for many sites."""

import pytest

from dehusk.streams.settings import MIB
from dehusk.streams.sites.server_memory import memory_advice


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
