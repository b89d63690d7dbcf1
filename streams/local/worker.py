"""A worker on the local stack, run as a user would run it."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dehusk.streams.local.addresses import LOOPBACK, Addresses
from dehusk.streams.local.monitoring import Monitoring
from dehusk.streams.settings import TopicSettings


@dataclass(frozen=True, slots=True)
class Worker:
    """`dehusk worker` on a topic of pages as they were crawled."""

    addresses: Addresses
    topics: TopicSettings
    labeler: str
    port: int
    """Where its monitoring pages are."""
    with_blocks: bool = True
    """Whether documents list all blocks, those that were left out too."""
    name: str = "worker"

    @property
    def monitoring(self) -> Monitoring:
        """Its monitoring pages."""
        return Monitoring(f"http://{LOOPBACK}:{self.port}/")

    def preparation(self) -> Sequence[str]:
        """Nothing to prepare."""
        return ()

    def command(self) -> Sequence[str]:
        """The command line."""
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
            "--monitoring-token": "",
            **({"--monitoring-topic": self.topics.monitoring} if self.topics.monitoring else {}),
            "--monitoring-certificate-file": "",
            "--monitoring-key-file": "",
            **({"--triton": self.addresses.triton_grpc} if self.labeler == "triton" else {}),
        }
        pairs = [argument for pair in options.items() for argument in pair]
        flags = ["--with-blocks"] if self.with_blocks else []
        return [str(Path(sys.executable).with_name("dehusk")), "worker", *pairs, *flags]

    def environment(self) -> Mapping[str, str]:
        """Nothing: all is on the command line."""
        return {}

    def is_ready(self) -> bool:
        """Whether it works and misses no service."""
        return self.monitoring.is_ready()
