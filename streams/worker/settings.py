"""What a worker is told: the settings of its dependencies, gathered in one value."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from dehusk.inference.repository import DEFAULT_REPOSITORY
from dehusk.inference.sites import SiteKey
from dehusk.schemas.documents import Comments
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.rendering import NO_RENDERING, Rendering
from dehusk.streams.settings import (
    Compression,
    FlowLimits,
    KafkaSettings,
    PageLimits,
    RedisSettings,
    TopicSettings,
    TritonSettings,
    WhenTritonIsUnavailable,
)
from dehusk.streams.sources.registry import SourceSettings

_MOST_PROCESSES = 4
"""As many preparation processes as the worker's own process can keep busy."""


def available_processors() -> int:
    """The processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_processes() -> int:
    """One preparation process per processor, up to a few."""
    return min(_MOST_PROCESSES, available_processors())


@dataclass(frozen=True, slots=True)
class MonitoringSettings:
    """Where the worker answers `/`, `/events`, `/report`, `/healthz`, `/readyz`, `/metrics`, `/inspect/`."""

    host: str = "127.0.0.1"
    port: int = 8080
    """0 for any free port, which is logged."""
    token: str | None = field(default=None, repr=False)
    """What all pages but those of the worker's health ask for; None for nothing."""
    certificate_file: Path | None = None
    """PEM of the certificate that the pages are served with by HTTPS; None for HTTP, and so no `key_file`."""
    key_file: Path | None = None
    inspector: bool = True
    """Whether pages can be inspected there, if a token guards it or only this machine reaches it."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Everything `dehusk worker` needs to know."""

    kafka: KafkaSettings = field(default_factory=KafkaSettings)
    topics: TopicSettings = field(default_factory=TopicSettings)
    session_seconds: float = 15.0
    """How long Kafka waits for a worker that died before others take its partitions."""
    source: str = "auto"
    """The crawler format of the input topic, a name in `dehusk.streams.sources.registry`."""
    source_settings: SourceSettings = field(default_factory=SourceSettings)
    redis: RedisSettings = field(default_factory=RedisSettings)
    site_key: SiteKey = SiteKey.HOST
    """Which pages are of one site."""
    revisit_after: int = 0
    """Pages of a site that are known when its first ones, as many, are cleaned again; 0 for never. Then
    `topics.revisits` is None."""
    labeler: str = "triton"
    """One of `LABELERS`."""
    triton: TritonSettings = field(default_factory=TritonSettings)
    model_repository: Path = DEFAULT_REPOSITORY
    """Where the labeler `onnx` finds its model."""
    when_triton_is_unavailable: WhenTritonIsUnavailable = WhenTritonIsUnavailable.WAIT
    page: PageLimits = field(default_factory=PageLimits)
    flow: FlowLimits = field(default_factory=FlowLimits)
    processes: int = field(default_factory=default_processes)
    """Processes that decode, segment and encode pages."""
    format: str = "document"
    """How documents are written, a name in `dehusk.streams.formats`."""
    compression: Compression = "none"
    """Kafka's codec for documents and dead letters."""
    with_blocks: bool = False
    """Whether documents list every block with its label."""
    drop_hidden: bool = False
    """Whether text that a page hides is left out, whatever the model says."""
    comments: Comments = Comments.SEPARATE
    """What becomes of user comments."""
    metadata: MetadataLevel = MetadataLevel.FAST
    """How far the metadata of pages are looked for."""
    comments_are_told_apart: bool = False
    """Whether a model that does not tell them apart is worth a warning."""
    rendering: Rendering = NO_RENDERING
    """Which Markdown and HTML documents have, beside what their format needs."""
    monitoring: MonitoringSettings = field(default_factory=MonitoringSettings)
    otlp: str | None = None
    """The address of the OpenTelemetry collector that spans are exported to; None for no spans."""
