"""Kafka, Redis and Triton on free loopback ports, started and stopped together.

    with LocalStack(directory) as stack:
        work_with(stack.addresses)
        stack.services["redis"].restart()

The stack is synchronous and needs no event loop; in a coroutine, `await asyncio.to_thread(service.restart)`
lets the loop run meanwhile. Its processes end with the process that made it, however that ends.
"""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import orjson

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.folders import locked, writing
from dehusk.streams.local.folder import LOOPBACK, assign_ports
from dehusk.streams.local.kafka import KafkaNode, find_java, kafka_jars, kafka_nodes
from dehusk.streams.local.process import Program, Service
from dehusk.streams.local.redis import RedisServer, find_redis
from dehusk.streams.local.triton import TritonServer, find_triton

_PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0)
"""Seconds before a service is restarted, by the number of its failures in a row."""
_STEADY_SECONDS = 60.0
"""Run time after which a failure is the first in a row again."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses of a running local stack; empty for a service that does not run."""

    kafka: str
    """Bootstrap servers, `host:port`, comma-separated."""
    redis: str
    """URL of the Redis database."""
    triton_grpc: str
    """`host:port` for inference."""
    triton_http: str
    """`host:port` for health, metadata and inference."""
    directory: str
    """Folder of the stack's data and logs."""

    def to_json(self) -> bytes:
        """Return one JSON object on one line."""
        return orjson.dumps(asdict(self))


ServiceName = Literal["kafka", "redis", "triton"]
SERVICES: tuple[ServiceName, ...] = ("kafka", "redis", "triton")
OnProgress = Callable[[str, str], None]
"""Callback for the name of a service and its state in a word or two."""


def default_cache() -> Path:
    """Return the user's folder for files that dehusk fetches once.

    Raises:
        ConfigurationError: the user has no home directory, and no other folder is set.
    """
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dehusk"
    except RuntimeError as error:
        raise ConfigurationError("there is no home directory for a cache: set XDG_CACHE_HOME") from error


def _silent(_service: str, _doing: str) -> None: ...


def _listeners(service: ServiceName, kafka_nodes: int) -> list[str]:
    """Return the names of a service's listeners, each with a port."""
    if service == "kafka":
        nodes = [f"kafka-{number}" for number in range(1, kafka_nodes + 1)]
        return [*nodes, *(f"{node} controller" for node in nodes)]
    return ["triton HTTP", "triton gRPC", "triton metrics"] if service == "triton" else ["redis"]


class LocalStack:
    """The services of a local stack: entering starts them, leaving stops them.

    `services` maps the names `kafka-1` (to `kafka-3`), `redis` and `triton` to the running services.
    `taken_ports` has ports of the last start in the same directory that another program listens on now.
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
        on_progress: OnProgress = _silent,
    ) -> None:
        self.services: dict[str, Service] = {}
        self.taken_ports: dict[str, int] = {}
        self._directory = directory.resolve()
        self._nodes = kafka_nodes
        self._repository = repository.resolve()
        self._wanted = services
        self._persistent = persistent
        self._cache = cache or default_cache()
        self._on_progress = on_progress
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
        """Addresses of the services, which stay the same after a restart."""
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
        """Return the services that have ended or no longer do their work, each with the cause in words."""
        failed = {service: service.state for service in self.services.values() if not service.running}
        if self._triton and self._triton.has_lost_a_model():
            failed.setdefault(self.services[self._triton.name], "the process of a model died")
        return failed

    def rotate_logs(self) -> None:
        """Begin large logs of the services anew; of each, the one before is kept.

        Raises:
            ConfigurationError: a log cannot be written.
        """
        for service in self.services.values():
            service.rotate_log()

    def kill(self) -> None:
        """End all services at once, remove what Triton leaves in shared memory and unlock the directory."""
        self._kill_all()
        if self._triton:
            self._triton.sweep()
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
            self._on_progress("Kafka's software", "(45 MB, fetched once)")
            jars = kafka_jars(self._cache)
            self._on_progress("Kafka's software", "ready")
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
        """Do something to all services at once; if it fails for one, or is interrupted, kill all."""
        with ThreadPoolExecutor(len(self.services)) as pool:
            actions = [pool.submit(action, service) for service in self.services.values()]
            try:
                for done in as_completed(actions):
                    done.result()
            except BaseException:
                self._kill_all()
                raise

    def _start(self, service: Service) -> None:
        self._on_progress(service.name, "starting")
        service.start()
        self._on_progress(service.name, "ready")

    def _kill_all(self) -> None:
        for service in self.services.values():
            service.kill()


class Restarts:
    """Restarts of failed services at their addresses, with growing pauses, up to a limit."""

    def __init__(
        self,
        failures: Callable[[], Mapping[Service, str]],
        tell: Callable[[str], None],
        *,
        steady_seconds: float = _STEADY_SECONDS,
    ) -> None:
        """Restart `failures`, each given with its cause in words, and `tell` of each in a line."""
        self._failures = failures
        self._tell = tell
        self._steady_seconds = steady_seconds
        self._in_a_row: defaultdict[str, int] = defaultdict(int)
        self._started: dict[str, float] = {}

    def restart_failed(self) -> None:
        """Restart each service that has failed since the last call, and wait until it is ready.

        Raises:
            ConfigurationError: its files can no longer be written.
            UnavailableError: it failed again and again, each time soon after its start.
        """
        for service, how in self._failures().items():
            self._restart(service, how)

    def _restart(self, service: Service, how: str) -> None:
        pause = self._pause(service)
        again = f"in {pause:.0f} s" if pause else "now"
        self._tell(f"{service.name} failed: {how}. It is started again {again}; its log: {service.log}")
        service.kill()
        time.sleep(pause)
        try:
            service.start()
        except UnavailableError:
            service.kill()  # the next call finds it ended
        else:
            self._tell(f"{service.name} is ready again, at the same address")
        self._started[service.name] = time.monotonic()

    def _pause(self, service: Service) -> float:
        if time.monotonic() - self._started.get(service.name, 0.0) > self._steady_seconds:
            self._in_a_row[service.name] = 0
        failures = self._in_a_row[service.name]
        if failures == len(_PAUSES):
            raise UnavailableError(f"{service.name} keeps failing; {service.last_words()}")
        self._in_a_row[service.name] += 1
        return _PAUSES[failures]
