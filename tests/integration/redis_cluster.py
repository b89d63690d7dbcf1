"""A Redis Cluster of two nodes, each with half of the slots."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from streams.local.addresses import LOOPBACK, free_ports
from streams.local.redis import find_redis
from streams.settings import RedisSettings

_SLOTS = (range(8192), range(8192, 16384))


@contextmanager
def redis_cluster(directory: Path) -> Iterator[RedisSettings]:
    """A cluster that runs meanwhile."""
    ports = free_ports(len(_SLOTS))
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
    for node, slots in zip(nodes, _SLOTS, strict=True):
        _until(node.ping)
        node.execute_command("CLUSTER ADDSLOTS", *slots)
        node.execute_command("CLUSTER MEET", LOOPBACK, ports[0])
    for node in nodes:
        _until(lambda node=node: node.execute_command("CLUSTER INFO")["cluster_state"] == "ok")
        _until(lambda node=node: len(node.execute_command("CLUSTER SLOTS")) == len(_SLOTS))
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
