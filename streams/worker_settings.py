"""Settings of a worker, gathered in one value."""

from dataclasses import dataclass, field
from pathlib import Path

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.inference.sites import SiteKey
from dehusk.schemas.options import DEFAULT_OPTIONS, DocumentOptions
from dehusk.streams.settings import (
    UNSURE_BELOW,
    Compression,
    FlowLimits,
    Guarantee,
    KafkaSettings,
    PageLimits,
    RedisSettings,
    TopicSettings,
    TritonSettings,
    ValueFormat,
    WhenTritonIsUnavailable,
    available_processors,
)
from dehusk.streams.sources.registry import SourceSettings

_MAX_PROCESSES = 4
"""As many preparation processes as the worker's own process can keep busy."""


def default_processes() -> int:
    """Return one preparation process per processor, up to a few."""
    return min(_MAX_PROCESSES, available_processors())


@dataclass(frozen=True, slots=True)
class MonitoringSettings:
    """Address of `/`, `/events`, `/report`, `/healthz`, `/readyz`, `/metrics` and `/inspect/`."""

    host: str = "127.0.0.1"
    port: int = 8080
    """0 for any free port, which is logged."""
    token: str | None = field(default=None, repr=False)
    """Token that all pages but those of the worker's health ask for; None for none."""
    certificate_file: Path | None = None
    """PEM of the certificate that the pages are served with by HTTPS; None for HTTP, and so no `key_file`."""
    key_file: Path | None = None
    inspector: bool = True
    """True if pages can be inspected there, if a token guards it or only this machine reaches it."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Everything `dehusk worker` needs to know."""

    kafka: KafkaSettings = field(default_factory=KafkaSettings)
    topics: TopicSettings = field(default_factory=TopicSettings)
    delivery: Guarantee = Guarantee.AT_LEAST_ONCE
    session_seconds: float = 15.0
    """Time that Kafka waits for a worker that died before others take its partitions."""
    group_instance: str | None = None
    """Name by which Kafka knows this worker again after a restart; None for one that leaves the group."""
    source: str = "auto"
    """Crawler format of the input topic, a name in `dehusk.streams.sources.registry`."""
    source_settings: SourceSettings = field(default_factory=SourceSettings)
    redis: RedisSettings = field(default_factory=RedisSettings)
    site_key: SiteKey = SiteKey.HOST
    """Rule by which pages are of one site."""
    revisit_after: int = 0
    """Pages of a site that are known when its first ones, as many, are cleaned again; 0 for never. Then
    `topics.revisits` is None."""
    labeler: str = "triton"
    """One of `LABELERS`."""
    triton: TritonSettings = field(default_factory=TritonSettings)
    model_repository: Path = DEFAULT_REPOSITORY
    """Folder of the models of the labeler `onnx`."""
    when_triton_is_unavailable: WhenTritonIsUnavailable = WhenTritonIsUnavailable.WAIT
    page: PageLimits = field(default_factory=PageLimits)
    flow: FlowLimits = field(default_factory=FlowLimits)
    processes: int = field(default_factory=default_processes)
    """Processes that decode, segment and encode pages."""
    format: str = "document"
    """Format of documents, a name in `dehusk.streams.topics.formats`."""
    value_format: ValueFormat = ValueFormat.JSON
    """Encoding of documents of the format `document`; all but JSON need a schema registry."""
    schema_subject: str | None = None
    """Subject of their schema at the registry; None for that of the output topic."""
    unsure_below: float = UNSURE_BELOW
    """Expected F1 below which documents go to `topics.unsure`, too."""
    compression: Compression = "none"
    """Kafka's codec for documents and dead letters."""
    options: DocumentOptions = DEFAULT_OPTIONS
    comments_are_told_apart: bool = False
    """True if a model that does not tell user comments apart is worth a warning."""
    monitoring: MonitoringSettings = field(default_factory=MonitoringSettings)
    webhook: str | None = field(default=None, repr=False)
    """URL that is told of versions that are taken back and of workers that are gone; None for none."""
    otlp: str | None = None
    """Address of the OpenTelemetry collector that spans are exported to; None for no spans."""

    @property
    def is_transactional(self) -> bool:
        """True if results and offsets are written in transactions."""
        return self.delivery is Guarantee.EXACTLY_ONCE
