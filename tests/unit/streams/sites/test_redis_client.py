"""Errors of a Redis, told apart by the words of its client."""

import asyncio
import re

import pytest
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.local.folder import LOOPBACK
from dehusk.streams.settings import MIB, RedisSettings
from dehusk.streams.sites.redis_client import (
    RedisClient,
    ServerUse,
    explain,
    explain_timeout,
    memory_advice,
    server_use,
)
from dehusk.streams.sites.redis_store import RedisSiteStatistics

PLAIN, TLS = RedisSettings("redis://user:word@cache:7000/0"), RedisSettings("rediss://user:word@cache")
CERTIFICATE = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: "


@pytest.mark.parametrize(
    ("redis", "said", "means"),
    [
        (
            PLAIN,
            "Error 111 connecting to cache:7000. Connect call failed ('127.0.0.1', 7000).",
            "no server listens at cache:7000: start it, or correct the URL",
        ),
        (
            RedisSettings("redis://[::1]"),
            "Connection refused",
            "no server listens at [::1]:6379: start it, or correct the URL",
        ),
        (
            RedisSettings("unix:///run/redis.sock"),
            "Error 2 connecting to /run/redis.sock. No such file or directory.",
            "no server listens at /run/redis.sock: start it, or correct the URL",
        ),
        (PLAIN, "Error -2 connecting to cache:7000. Name or service not known.", "there is no host cache: "),
        (PLAIN, "Protocol Error: b'HTTP/1.1 400 Bad Request'", "what answers at cache:7000 is no Redis: "),
        (PLAIN, "Connection closed by server.", "cache:7000 closed the connection: .* one with TLS"),
        (TLS, "Connection reset by peer", "cache:6379 closed the connection: .* one without TLS"),
        (TLS, f"{CERTIFICATE}self-signed certificate (_ssl.c:1006).", "of no authority .*--redis-ca-file"),
        (TLS, f"{CERTIFICATE}IP address mismatch, certificate is not valid", "is one of another host"),
        (TLS, f"{CERTIFICATE}certificate has expired", "the certificate of .* has expired: have it"),
        (TLS, "[SSL: SSLV3_ALERT] sslv3 alert certificate expired", "does not trust --redis-cert"),
        (TLS, "[SSL: TLSV1_ALERT_UNKNOWN_CA] tlsv1 alert unknown ca", "does not trust --redis-cert"),
        (TLS, "[SSL: WRONG_VERSION_NUMBER] wrong version number", "begin the URL with redis://"),
        (TLS, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert", "--redis-certificate-file"),
        (PLAIN, "Authentication required.", r"redis\[s\]://\[user\]:password@cache:7000/0"),
        (PLAIN, "invalid username-password pair or user is disabled.", "in the URL is wrong"),
        (PLAIN, "No permissions to access a key", "ACL SETUSER <user> ~dehusk:[*]$"),
        (PLAIN, "DB index is out of range", "cache:7000 has no database of the number"),
        (
            PLAIN,
            "Redis Cluster cannot be connected. Please provide at least one reachable node: "
            "Cluster mode is not enabled on this node",
            "cache:7000 is no node of a Redis Cluster: leave --redis-cluster out",
        ),
        (PLAIN, "Something else.", "Something else"),
    ],
)
def test_the_words_of_an_error_say_what_to_do(redis: RedisSettings, said: str, means: str) -> None:
    found = explain(said, redis)
    assert means == found or re.search(means, found)
    assert "word@" not in found.replace("password@", "")
    assert not found.endswith(".")


def test_the_text_of_a_script_is_no_part_of_its_error() -> None:
    said = (
        "Command # 1 (EVAL -- Counts pages (each\nonce)) of pipeline caused error: ('Error running script "
        "(call to f_6c56): @user_script:254: @user_script: 254: -READONLY You can\\'t write against a read "
        "only replica.',)"
    )
    assert explain(said, PLAIN).startswith("cache:7000 is a replica, which is only for reading")
    assert explain(said.replace("read only replica", "wall"), PLAIN) == (
        "READONLY You can\\'t write against a wall"
    )


async def test_a_right_that_a_script_lacks_is_a_refusal() -> None:
    said = "ACL failure in script: User dehusk has no permissions to run the 'hset' command"
    client = RedisClient(PLAIN)
    for place in ("", f" script: {'0' * 40}, on @user_script:305."):
        error = ResponseError(f"Command # 1 (EVAL -- Counts) of pipeline caused error: {(said + place,)}")
        with pytest.raises(ConfigurationError) as raised, client.errors("to count pages"):
            raise error
        assert str(raised.value) == (
            "Redis refuses to count pages: User dehusk has no permissions to run the 'hset' command"
        )


async def test_a_time_limit_of_the_client_is_told_as_one() -> None:
    with pytest.raises(UnavailableError, match=r"--redis-seconds.*TLS"), RedisClient(TLS).errors("to count"):
        raise RedisTimeoutError("Timeout connecting to server")


def test_one_without_tls_may_be_what_never_answers() -> None:
    assert "TLS" in explain_timeout(TLS)
    assert explain_timeout(PLAIN) == "Redis did not answer within 2 s (--redis-seconds)"


@pytest.mark.parametrize("cluster", [False, True])
async def test_another_server_at_the_port_is_told_of(*, cluster: bool) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(refuse, LOOPBACK, 0)
    port = server.sockets[0].getsockname()[1]
    store = RedisSiteStatistics(RedisSettings(f"redis://{LOOPBACK}:{port}", cluster=cluster))
    try:
        with pytest.raises(UnavailableError, match=f"{LOOPBACK}:{port} is no Redis"):
            await store.check()
    finally:
        await store.close()
        server.close()
        await server.wait_closed()


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
