"""A Redis Cluster of three nodes, whose slots move, and whose nodes die, come back or are followed."""

import asyncio

import pytest
from redis.crc import key_slot

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.local.folder import LOOPBACK
from dehusk.streams.settings import RedisSettings

SLOTS = 16384
OPTIONS = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0")
SITES = [f"site-{number}.test" for number in range(40)]


def slot_of(site):
    return key_slot(f"dehusk:3:{{{site}}}".encode())


def node_id(server):
    with server.client() as client:
        return client.execute_command("CLUSTER MYID").decode()


def is_joined(server, nodes):
    with server.client() as client:
        info = client.execute_command("CLUSTER INFO")
    return info["cluster_state"] == "ok" and int(info["cluster_known_nodes"]) == nodes


@pytest.fixture
def cluster(start, until):
    """Starts three nodes, each with a third of the slots, and a replica of the first where it is wanted."""

    def start_cluster(*options, replicated=False):
        nodes = [start(*OPTIONS, *options) for _ in range(4 if replicated else 3)]
        for number, node in enumerate(nodes):
            with node.client() as client:
                slots = range(SLOTS * number // 3, SLOTS * (number + 1) // 3) if number < 3 else ()
                for first in slots[:1]:
                    client.execute_command("CLUSTER ADDSLOTS", *range(first, slots[-1] + 1))
                client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
                client.execute_command("CLUSTER MEET", LOOPBACK, nodes[0].port)
        for node in nodes:
            until(lambda node=node: is_joined(node, len(nodes)))
        if replicated:
            with nodes[3].client() as client:
                client.execute_command("CLUSTER REPLICATE", node_id(nodes[0]))
                until(lambda: client.info("replication").get("master_link_status") == "up")
        return nodes

    return start_cluster


def settings(nodes, number=1):
    return RedisSettings(nodes[number].url.removesuffix("/0"), cluster=True)


async def observe_all(store, page, name):
    """A page of each site, one after the other; how many pages of each are known."""
    return [answer.pages for answer in await store.observe([page(site, name, 7) for site in SITES])]


async def wait_for(store):
    """Until the store counts."""
    for _ in range(600):
        try:
            return await store.check()
        except UnavailableError:
            await asyncio.sleep(0.1)
    raise AssertionError("the store does not count again")


def of_slot(slot):
    """Another site of the same slot."""
    return next(site for site in map("other-{}.test".format, range(10**6)) if slot_of(site) == slot)


async def test_counting_goes_on_while_a_slot_moves(cluster, opened, page):
    nodes = await asyncio.to_thread(cluster)
    site, slot = SITES[0], slot_of(SITES[0])
    source = nodes[slot * 3 // SLOTS]
    target = next(node for node in nodes if node is not source)
    other = of_slot(slot)
    async with opened(settings(nodes)) as store:

        async def known(name):
            pages = [page(each, name, 7) for each in (*SITES, other)]
            return [answer.pages for answer in await store.observe(pages)]

        assert await known(0) == [0] * 41
        new = of_slot(slot) + ".new"
        with source.client() as old, target.client() as client:
            client.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", node_id(source))
            old.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", node_id(target))
            assert await known(1) == [1] * 41  # nothing has moved yet
            assert old.execute_command("MIGRATE", LOOPBACK, target.port, f"dehusk:3:{{{site}}}", 0, 5000)
            assert await known(2) == [2] * 41  # one site of the slot is there, one is here
            assert old.execute_command("MIGRATE", LOOPBACK, target.port, f"dehusk:3:{{{other}}}", 0, 5000)
            assert await known(3) == [3] * 41
            for node in nodes:
                with node.client() as each:
                    each.execute_command("CLUSTER SETSLOT", slot, "NODE", node_id(target))
            assert await known(4) == [4] * 41
            assert (await store.observe([page(new, 1, 7)]))[0].pages == 0


async def test_counts_outlive_a_node_with_a_replica(cluster, opened, page):
    nodes = await asyncio.to_thread(cluster, replicated=True)
    async with opened(settings(nodes)) as store:
        assert await observe_all(store, page, 0) == [0] * 40
        with nodes[0].client() as client:
            client.wait(1, 5000)
        nodes[0].kill()
        with pytest.raises(UnavailableError):
            await observe_all(store, page, 1)
        await wait_for(store)
        assert await observe_all(store, page, 1) == [1] * 40


@pytest.mark.parametrize("coverage", ["yes", "no"])
async def test_counting_resumes_when_a_node_without_replica_is_back(cluster, opened, page, coverage):
    nodes = await asyncio.to_thread(cluster, "--cluster-require-full-coverage", coverage)
    async with opened(settings(nodes)) as store:
        assert await observe_all(store, page, 0) == [0] * 40
        nodes[0].kill()
        for ask in (store.check(), observe_all(store, page, 1)):
            with pytest.raises(UnavailableError):
                await ask
        await asyncio.to_thread(nodes[0].start)
        await wait_for(store)
        lost = [slot_of(site) < SLOTS // 3 for site in SITES]
        assert any(lost)
        known = await observe_all(store, page, 2)
        assert [pages == 0 for pages in known] == lost


async def test_a_frozen_node_is_noticed_and_missed_no_longer_than_it_is_frozen(cluster, opened, page):
    nodes = await asyncio.to_thread(cluster)
    async with opened(settings(nodes)) as store:
        assert await observe_all(store, page, 0) == [0] * 40
        nodes[2].freeze()
        for ask in (store.check(), observe_all(store, page, 1)):
            with pytest.raises(UnavailableError):
                await ask
        nodes[2].thaw()
        await wait_for(store)
        await observe_all(store, page, 1)
        assert await observe_all(store, page, 2) == [2] * 40


async def test_each_node_is_told_of_whose_memory_has_no_bound(cluster, opened, caplog):
    nodes = await asyncio.to_thread(cluster)
    with nodes[0].client() as client:
        client.config_set("maxmemory", 10**9)
    async with opened(settings(nodes)) as store:
        for _ in range(2):
            await store.check()
    said = [
        record.getMessage() for record in caplog.records if record.name == "dehusk.streams.sites.redis_store"
    ]
    assert sorted("no maxmemory" in line for line in said) == [False, True, True]
    assert sum("954 MiB" in line for line in said) == 1


async def test_a_user_of_few_rights_counts_in_a_cluster(cluster, opened, page):
    nodes = await asyncio.to_thread(cluster)
    rights = "+evalsha +eval +time +hmget +hget +hset +hdel +expire ~dehusk:* +cluster +command"
    for node in nodes:
        with node.client() as client:
            client.execute_command("ACL SETUSER", "dehusk", "on", ">right", *rights.split())
    url = settings(nodes).url.replace("//", "//dehusk:right@")
    async with opened(RedisSettings(url, cluster=True)) as store:
        await store.check()
        await observe_all(store, page, 0)
        assert await observe_all(store, page, 1) == [1] * 40


async def test_a_node_that_is_taken_for_a_redis_alone_is_told_of(cluster, opened):
    for node in await asyncio.to_thread(cluster):
        async with opened(node) as store:
            with pytest.raises(ConfigurationError, match=r"node of a Redis Cluster: give --redis-cluster$"):
                await store.check()
