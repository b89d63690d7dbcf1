import asyncio
from functools import partial

import numpy as np
import pytest

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.sites import SiteObservation
from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.settings import RedisSettings
from dehusk.streams.sites.redis_store import RedisSiteStatistics

_TEXT = np.array([5], np.uint64)
PAGE = SiteObservation("a.test", "/1", _TEXT, _TEXT, np.array([0.5], np.float32), np.array([True]))


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379",
        "http://localhost",
        "",
        "redis://localhost:6379/abc",
        "redis://localhost:6379?timeout=3",
    ],
)
@pytest.mark.parametrize("cluster", [False, True])
def test_says_that_a_url_is_none_of_a_redis(url, cluster):
    with pytest.raises(ConfigurationError, match="no URL of a Redis"):
        RedisSiteStatistics(RedisSettings(url, cluster=cluster))


@pytest.mark.parametrize("option", ["retry", "policy_resolver", "event_dispatcher", "read_from_replicas"])
@pytest.mark.parametrize("cluster", [False, True])
def test_names_an_option_that_a_url_may_not_have(option, cluster):
    settings = RedisSettings(f"redis://localhost?protocol=3&{option}=secret", cluster=cluster)
    with pytest.raises(ConfigurationError, match=rf"may be in the URL of a Redis: {option}$") as raised:
        RedisSiteStatistics(settings)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("cluster", [False, True])
def test_a_url_may_have_options(cluster):
    url = "rediss://localhost?ssl_cert_reqs=none&client_name=dehusk&protocol=3"
    RedisSiteStatistics(RedisSettings(url, cluster=cluster))


def test_a_cluster_has_one_database() -> None:
    with pytest.raises(ConfigurationError, match=r"it has the database 0 alone$"):
        RedisSiteStatistics(RedisSettings("redis://localhost:6379/9", cluster=True))


@pytest.mark.parametrize(
    "url", ["redis://user:secret/@host:6379", "user:secret@host", "rediss://:secret@[::1"]
)
@pytest.mark.parametrize("cluster", [False, True])
def test_a_url_that_is_refused_is_shown_without_its_password(url, cluster):
    with pytest.raises(ConfigurationError, match="no URL of a Redis") as raised:
        RedisSiteStatistics(RedisSettings(url, cluster=cluster))
    assert "secret" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("cluster", [False, True])
async def test_a_redis_that_is_not_there_is_unavailable(cluster):
    store = RedisSiteStatistics(RedisSettings(f"redis://{LOOPBACK}:{free_ports(1)[0]}", cluster=cluster))
    for ask in (store.check, partial(store.observe, [PAGE])):
        with pytest.raises(UnavailableError):
            await ask()
    await store.close()


@pytest.mark.parametrize("cluster", [False, True])
async def test_a_server_that_never_answers_is_unavailable_in_time(cluster):
    ended = asyncio.Event()

    async def say_nothing(reader, writer):
        await ended.wait()
        writer.close()

    server = await asyncio.start_server(say_nothing, LOOPBACK, 0)
    port = server.sockets[0].getsockname()[1]
    store = RedisSiteStatistics(RedisSettings(f"redis://{LOOPBACK}:{port}", cluster=cluster, timeout=0.2))
    try:
        for ask in (store.check, partial(store.observe, [PAGE])):
            with pytest.raises(UnavailableError):
                await ask()
    finally:
        await store.close()
        ended.set()
        server.close()
        await server.wait_closed()


async def test_observing_nothing_asks_nobody():
    store = RedisSiteStatistics(RedisSettings(f"redis://{LOOPBACK}:{free_ports(1)[0]}"))
    assert await store.observe([]) == []
    await store.close()


def test_a_file_of_tls_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="absent"):
        RedisSiteStatistics(RedisSettings("rediss://localhost", ca_file=tmp_path / "absent.pem"))
