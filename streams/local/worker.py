"""A worker on the local stack, run as a user would run it, and its monitoring pages."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from urllib.request import urlopen

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.local.folder import LOOPBACK
from dehusk.streams.local.process import Program
from dehusk.streams.local.stack import Addresses
from dehusk.streams.monitoring.state import Totals
from dehusk.streams.settings import TopicSettings

_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Report:
    """The counts of a worker's `/report`."""

    totals: Totals
    in_flight: int
    lag: int | None


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Monitoring pages under a URL that ends with a slash."""

    url: str

    def is_ready(self) -> bool:
        """Return True if the worker runs and misses no service."""
        try:
            self._get("readyz")
        except UnavailableError:
            return False
        return True

    def report(self) -> Report:
        """Read the worker's report.

        Raises:
            UnavailableError: the worker does not answer.
        """
        return msgspec.json.decode(self._get("report"), type=Report)

    def skipped(self) -> dict[str, int]:
        """Return the number of messages that the worker has skipped so far, by reason.

        Raises:
            UnavailableError: the worker does not answer.
        """
        return {reason: int(count) for reason, count in self.metric("dehusk_skipped_total", "reason").items()}

    def metric(self, name: str, label: str) -> dict[str, float]:
        """Return the values of a metric by one of its labels, without zeros.

        Raises:
            UnavailableError: the worker does not answer.
        """
        families = text_string_to_metric_families(self._get("metrics").decode())
        samples = (sample for family in families for sample in family.samples)
        return {
            sample.labels[label]: sample.value for sample in samples if sample.name == name and sample.value
        }

    def _get(self, page: str) -> bytes:
        try:
            with urlopen(self.url + page, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 an http URL of ours
                return bytes(answer.read())
        except (OSError, HTTPException) as error:
            raise UnavailableError(f"{self.url}{page} does not answer: {error}") from error


@dataclass(frozen=True, slots=True)
class Worker(Program):
    """`dehusk worker` on a topic of pages as they were crawled."""

    addresses: Addresses
    topics: TopicSettings
    labeler: str
    port: int
    """Port of its monitoring pages."""
    with_blocks: bool = True
    """True if documents list all blocks, including those that were left out."""
    name: str = "worker"

    @property
    def monitoring(self) -> Monitoring:
        """Monitoring pages of the worker."""
        return Monitoring(f"http://{LOOPBACK}:{self.port}/")

    def command(self) -> Sequence[str]:
        """Return the command line."""
        topic, triton = self.topics.monitoring, self.addresses.triton_grpc
        options = {
            "--brokers": self.addresses.kafka,
            "--input": self.topics.input,
            "--output": self.topics.output,
            "--dead-letters": self.topics.dead_letters,
            "--group": self.topics.group,
            "--source": "html",
            "--redis": self.addresses.redis,
            "--labeler": self.labeler,
            "--monitoring": f"{LOOPBACK}:{self.port}",
            **({"--monitoring-topic": topic} if topic else {}),
            **({"--triton": triton} if self.labeler == "triton" else {}),
        }
        pairs = [argument for pair in options.items() for argument in pair]
        flags = ["--with-blocks"] if self.with_blocks else []
        return [sys.executable, "-m", "dehusk", "worker", *pairs, *flags]

    def environment(self) -> Mapping[str, str]:
        """Return this environment without what the user has set for other workers."""
        return {name: value for name, value in os.environ.items() if not name.startswith("DEHUSK_")}

    def is_ready(self) -> bool:
        """Return True if it works and misses no service."""
        return self.monitoring.is_ready()
