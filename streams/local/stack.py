"""Kafka, Redis and Triton on free loopback ports, started and stopped together.

    with LocalStack(directory) as stack:
        work_with(stack.addresses)
        stack.services["redis"].restart()

The stack is synchronous and needs no event loop; in a coroutine, `await asyncio.to_thread(service.restart)`
lets the loop run meanwhile. Its processes end with the process that made it, however that ends.
"""

import os
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from dehusk.inference.repository import DEFAULT_REPOSITORY
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.local.addresses import LOOPBACK, Addresses
from dehusk.streams.local.folder import locked, writing
from dehusk.streams.local.jars import kafka_jars
from dehusk.streams.local.java import find_java
from dehusk.streams.local.kafka import KafkaNode, kafka_nodes
from dehusk.streams.local.ports import assign_ports
from dehusk.streams.local.process import Program, Service
from dehusk.streams.local.redis import RedisServer, find_redis
from dehusk.streams.local.triton import TritonServer, find_triton

ServiceName = Literal["kafka", "redis", "triton"]
SERVICES: tuple[ServiceName, ...] = ("kafka", "redis", "triton")
Report = Callable[[str, str], None]
"""Told what a service does: its name, and a word or two."""


def default_cache() -> Path:
    """The user's folder for what dehusk fetches once.

    Raises:
        ConfigurationError: the user has no home directory, and no other folder is set.
    """
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dehusk"
    except RuntimeError as error:
        raise ConfigurationError("there is no home directory for a cache: set XDG_CACHE_HOME") from error


def _silent(_service: str, _doing: str) -> None: ...


def _listeners(service: ServiceName, kafka_nodes: int) -> list[str]:
    """Who of a service listens on a port."""
    if service == "kafka":
        nodes = [f"kafka-{number}" for number in range(1, kafka_nodes + 1)]
        return [*nodes, *(f"{node} controller" for node in nodes)]
    return ["triton HTTP", "triton gRPC", "triton metrics"] if service == "triton" else ["redis"]


class LocalStack:
    """The services of a local stack: entering starts them, leaving stops them.

    `services` maps the names `kafka-1` (to `kafka-3`), `redis` and `triton` to the running services;
    `taken_ports` says where a start in the same directory listened before, and another program does now.
    """

    def __init__(
        self,
        directory: Path,
        *,
        kafka_nodes: int = 1,
        repository: Path = DEFAULT_REPOSITORY,
        services: Collection[ServiceName] = SERVICES,
        persistent: bool = False,
        cache: Path | None = None,
        report: Report = _silent,
    ) -> None:
        self.services: dict[str, Service] = {}
        self.taken_ports: dict[str, int] = {}
        self._directory = directory.resolve()
        self._nodes = kafka_nodes
        self._repository = repository.resolve()
        self._wanted = services
        self._persistent = persistent
        self._cache = cache or default_cache()
        self._report = report
        self._kafka: list[KafkaNode] = []
        self._redis: RedisServer | None = None
        self._triton: TritonServer | None = None
        self._resources = ExitStack()

    def __enter__(self) -> Self:
        """Start all services at once and wait until each is ready.

        Raises:
            ConfigurationError: a service cannot run here, or the directory is in use or cannot be written.
            UnavailableError: a service did not get ready, or could not be fetched.
        """
        try:
            with writing(self._directory):
                self._lock()
                self._assemble()
            self._for_all(self._start)
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop all services at once; an interrupt meanwhile kills them."""
        try:
            self._for_all(Service.stop)
        finally:
            self.kill()

    @property
    def addresses(self) -> Addresses:
        """Where the services answer; the same after a service was restarted."""
        return Addresses(
            kafka=",".join(f"{LOOPBACK}:{node.port}" for node in self._kafka),
            redis=f"redis://{LOOPBACK}:{self._redis.port}/0" if self._redis else "",
            triton_grpc=f"{LOOPBACK}:{self._triton.grpc_port}" if self._triton else "",
            triton_http=f"{LOOPBACK}:{self._triton.http_port}" if self._triton else "",
            directory=str(self._directory),
        )

    @property
    def triton_metrics(self) -> str:
        """URL of Triton's Prometheus metrics; empty without Triton."""
        return f"http://{LOOPBACK}:{self._triton.metrics_port}/metrics" if self._triton else ""

    def failures(self) -> dict[Service, str]:
        """The services that have ended or no longer do their work, and how that came, in words."""
        failed = {service: service.state for service in self.services.values() if not service.running}
        if self._triton and self._triton.has_lost_a_model():
            failed.setdefault(self.services[self._triton.name], "the process of a model died")
        return failed

    def kill(self) -> None:
        """End all services at once and give the directory free."""
        self._kill_all()
        self._resources.close()

    def _lock(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        try:
            self._resources.enter_context(locked(self._directory))
        except BlockingIOError as error:
            raise ConfigurationError(f"{self._directory} is in use by another local stack") from error

    def _assemble(self) -> None:
        ports = self._assign_ports()
        if "triton" in ports:
            folder = self._directory / "triton"
            self._triton = TritonServer("triton", find_triton(), self._repository, folder, *ports["triton"])
            self._add(self._triton)
        if "redis" in ports:
            folder = self._directory / "redis"
            self._redis = RedisServer("redis", find_redis(), ports["redis"][0], folder, self._persistent)
            self._add(self._redis)
        if "kafka" in ports:
            self._report("Kafka's jars", "(45 MB, fetched once)")
            jars = kafka_jars(self._cache)
            self._report("Kafka's jars", "ready")
            self._kafka = kafka_nodes(ports["kafka"], self._directory, find_java(), jars)
            for node in self._kafka:
                self._add(node)

    def _assign_ports(self) -> dict[ServiceName, list[int]]:
        names = {service: _listeners(service, self._nodes) for service in self._wanted}
        ports = assign_ports([*chain(*names.values())], self._directory / "ports.json")
        self.taken_ports = ports.taken
        return {service: [ports.numbers[name] for name in names[service]] for service in names}

    def _add(self, program: Program) -> None:
        self.services[program.name] = Service(program, self._directory / "logs" / f"{program.name}.log")

    def _for_all(self, action: Callable[[Service], None]) -> None:
        """Do something to all services at once; when it fails for one, or is interrupted, all are killed."""
        with ThreadPoolExecutor(len(self.services)) as pool:
            actions = [pool.submit(action, service) for service in self.services.values()]
            try:
                for done in as_completed(actions):
                    done.result()
            except BaseException:
                self._kill_all()
                raise

    def _start(self, service: Service) -> None:
        self._report(service.name, "starting")
        service.start()
        self._report(service.name, "ready")

    def _kill_all(self) -> None:
        for service in self.services.values():
            service.kill()
