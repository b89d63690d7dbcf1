"""A Redis Cluster, each node of which has an equal part of the slots."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from dehusk.streams.local.addresses import LOOPBACK, free_ports
from dehusk.streams.local.redis import find_redis
from dehusk.streams.settings import RedisSettings

_SLOTS = 16_384


@contextmanager
def redis_cluster(directory: Path, nodes: int) -> Iterator[RedisSettings]:
    """A cluster of so many nodes that runs meanwhile."""
    ports = free_ports(nodes)
    processes = [_start(port, directory / str(port)) for port in ports]
    try:
        _join(ports)
        yield RedisSettings(f"redis://{LOOPBACK}:{ports[0]}", cluster=True)
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
    for _ in range(200):
        try:
            if condition():
                return
        except RedisError:
            pass
        time.sleep(0.05)
    raise AssertionError("the cluster does not get ready")
