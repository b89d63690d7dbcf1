"""A Redis with TLS, with passwords, and with users who may do no more than they need."""

import ssl
from dataclasses import replace

import pytest

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.local.folder import LOOPBACK
from dehusk.streams.settings import RedisSettings
from tests.authority import Authority
from tests.integration.redis_cluster import redis_cluster

RIGHTS = "+evalsha +eval +time +hmget +hget +hset +hdel +expire ~dehusk:*"
PASSWORD = "not%2Fto+be:told"


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
async def secured(start, relay, authority):
    """Starts a Redis with a user and TLS, which may ask for a client's certificate; gives its URL."""

    async def start_secured(*addresses, asks=False):
        server = start()
        with server.client() as client:
            client.execute_command("ACL SETUSER", "dehusk", "on", ">not/to+be:told", *RIGHTS.split())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.certify("server", *(addresses or (LOOPBACK,))))
        if asks:
            context.load_verify_locations(authority.file)
            context.verify_mode = ssl.CERT_REQUIRED
        address = await relay(server, ssl=context)
        return f"rediss://dehusk:{PASSWORD}@{LOOPBACK}:{address.port}/0"

    return start_secured


async def counts(store, page):
    await store.check()
    await store.observe([page("a.test", 1, 7)])
    (answer,) = await store.observe([page("a.test", 2, 7)])
    return answer.pages == 1


async def test_counts_over_tls_with_a_user_and_a_password(secured, opened, page, authority):
    async with opened(RedisSettings(await secured(), ca_file=authority.file)) as store:
        assert await counts(store, page)


async def test_a_server_of_an_unknown_authority_is_not_trusted(secured, opened, page):
    async with opened(RedisSettings(await secured())) as store:
        with pytest.raises(UnavailableError, match="certificate") as raised:
            await store.check()
    assert "told" not in str(raised.value)


async def test_a_server_of_another_name_is_not_trusted(secured, opened, page, authority):
    async with opened(RedisSettings(await secured("10.1.2.3"), ca_file=authority.file)) as store:
        with pytest.raises(UnavailableError, match="certificate"):
            await store.check()


async def test_shows_a_certificate_to_a_server_that_asks_for_one(secured, opened, page, authority):
    url = await secured(asks=True)
    certificate, key = authority.certify("client")
    settings = RedisSettings(url, ca_file=authority.file, certificate_file=certificate, key_file=key)
    async with opened(settings) as store:
        assert await counts(store, page)
    async with opened(RedisSettings(url, ca_file=authority.file)) as store:
        with pytest.raises(UnavailableError):
            await store.check()


@pytest.mark.parametrize("cluster", [False, True])
@pytest.mark.parametrize("user", ["dehusk:wr0ngsecret@", ":wr0ngsecret@", "nobody:wr0ngsecret@", ""])
async def test_a_wrong_password_is_told_of_without_it(start, opened, page, user, cluster):
    server = start(*(("--cluster-enabled", "yes") if cluster else ()))
    with server.client() as client:
        client.config_set("requirepass", "right")
        client.execute_command("ACL SETUSER", "dehusk", "on", ">right", *RIGHTS.split())
    url = server.url.replace("//", f"//{user}")
    async with opened(RedisSettings(url, cluster=cluster)) as store:
        for ask in (store.check, lambda: store.observe([page("a.test", 1, 7)])):
            with pytest.raises(ConfigurationError, match="Redis refuses to count pages") as raised:
                await ask()
            assert "wr0ng" not in str(raised.value)


@pytest.mark.parametrize("right", [each for each in RIGHTS.split() if each != "+evalsha"])  # it has +eval
async def test_a_user_without_one_of_the_rights_is_told_so(start, opened, page, right):
    server = start()
    rights = [each for each in RIGHTS.split() if each != right]
    with server.client() as client:
        client.execute_command("ACL SETUSER", "dehusk", "on", ">right", *rights)
    async with opened(RedisSettings(server.url.replace("//", "//dehusk:right@"))) as store:
        with pytest.raises(ConfigurationError, match="Redis refuses to count pages"):
            await store.observe([page("a.test", number, number) for number in range(1_100)])


async def test_a_user_who_may_not_look_at_the_memory_counts(start, opened, page, caplog):
    server = start()
    with server.client() as client:
        client.execute_command("ACL SETUSER", "dehusk", "on", ">right", *RIGHTS.split())
    caplog.set_level("INFO")
    async with opened(RedisSettings(server.url.replace("//", "//dehusk:right@"))) as store:
        assert await counts(store, page)
    assert "Redis refuses to tell of its memory" in caplog.text


async def check(opened, settings):
    async with opened(settings) as store:
        await store.check()


@pytest.mark.parametrize("cluster", [False, True])
async def test_a_server_that_asks_for_a_password_says_how_to_give_it(start, opened, cluster):
    server = start(*(("--cluster-enabled", "yes") if cluster else ()))
    with server.client() as client:
        client.config_set("requirepass", "right")
    with pytest.raises(ConfigurationError, match=r"it asks for a password: redis\[s\]://"):
        await check(opened, RedisSettings(server.url, cluster=cluster))


async def test_tls_where_there_is_none_and_none_where_there_is(start, opened, secured):
    plain = start()
    with pytest.raises(UnavailableError, match="one without TLS never answers"):
        await check(opened, RedisSettings(plain.url.replace("redis:", "rediss:"), timeout=0.5))
    url = (await secured()).replace("rediss:", "redis:")
    with pytest.raises(UnavailableError, match=r"closed the connection: .*one with TLS \(rediss://…\)"):
        await check(opened, RedisSettings(url))


async def test_a_replica_is_named_as_one(start, opened, until):
    first, second = start("--repl-diskless-sync-delay", "0"), start()
    with second.client() as client:
        client.replicaof(LOOPBACK, first.port)
        until(lambda: client.info("replication")["master_link_status"] == "up")
    with pytest.raises(UnavailableError, match=f"^Redis does not answer: .*:{second.port} is a replica"):
        await check(opened, second)


async def test_a_redis_is_no_cluster_and_a_node_no_redis_alone(start, opened):
    with pytest.raises(ConfigurationError, match=r"leave --redis-cluster out$"):
        await check(opened, RedisSettings(start().url, cluster=True))
    node = start("--cluster-enabled", "yes")
    with pytest.raises(UnavailableError, match=r"node of a Redis Cluster \(--redis-cluster\)$"):
        await check(opened, node)


async def test_a_node_that_has_not_the_slot_names_the_option(opened, page, tmp_path):
    pages = [page(f"{number}.test", 1, 7) for number in range(20)]
    with redis_cluster(tmp_path, nodes=2) as cluster:
        async with opened(replace(cluster, cluster=False)) as store:
            with pytest.raises(ConfigurationError, match=r"a node of a Redis Cluster: give --redis-cluster$"):
                await store.observe(pages)
