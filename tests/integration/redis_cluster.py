"""A Redis Cluster, each node of which has an equal part of the slots."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from dehusk.streams.local.folder import LOOPBACK, free_ports, is_free
from dehusk.streams.local.redis import find_redis
from dehusk.streams.settings import RedisSettings
from tests.integration.conftest import ANSWER_SECONDS

_SLOTS = 16_384
_BUS = 10_000
"""Distance from a node's port to the port at which it listens for the other nodes."""
_FIRST_OUTGOING = 32_768
"""Ports from here on are those of outgoing connections."""


def node_ports(count: int) -> list[int]:
    """Free ports whose buses are free as well, and stay so."""
    ports = (port for port in free_ports(1000) if port + _BUS < _FIRST_OUTGOING and is_free(port + _BUS))
    return list(islice(ports, count))


@contextmanager
def redis_cluster(directory: Path, nodes: int) -> Iterator[RedisSettings]:
    """A cluster of so many nodes that runs meanwhile."""
    ports = node_ports(nodes)
    processes = [_start(port, directory / str(port)) for port in ports]
    try:
        _join(ports)
        yield RedisSettings(f"redis://{LOOPBACK}:{ports[0]}", cluster=True, timeout=ANSWER_SECONDS)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _start(port: int, directory: Path) -> subprocess.Popen[bytes]:
    directory.mkdir()
    options = f"--port {port} --bind {LOOPBACK} --dir {directory} --save --cluster-enabled yes"
    return subprocess.Popen([find_redis(), *options.split()], stdout=subprocess.DEVNULL)


def _join(ports: list[int]) -> None:
    nodes = [Redis(port=port) for port in ports]
    ends = [_SLOTS * number // len(nodes) for number in range(len(nodes) + 1)]
    for node, slots in zip(nodes, pairwise(ends), strict=True):
        _until(node.ping)
        node.execute_command("CLUSTER ADDSLOTS", *range(*slots))
        node.execute_command("CLUSTER MEET", LOOPBACK, ports[0])
    for node in nodes:
        _until(lambda node=node: node.execute_command("CLUSTER INFO")["cluster_state"] == "ok")
        _until(lambda node=node: len(node.execute_command("CLUSTER SLOTS")) == len(nodes))
        node.close()


def _until(condition: Callable[[], object]) -> None:
    for _ in range(1200):
        try:
            if condition():
                return
        except RedisError:
            pass
        time.sleep(0.05)
    raise AssertionError("the cluster does not get ready")
