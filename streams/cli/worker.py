"""`dehusk worker`: clean the pages of a topic until it is stopped."""

import asyncio
import re
from pathlib import Path

import click

from dehusk.inference.labelers.labeler import LOCAL_LABELERS
from dehusk.streams.cli.shared.interrupts import loading
from dehusk.streams.cli.shared.kafka_options import (
    compression_option,
    kafka_options,
    membership_options,
    optional_topic_option,
    revisit_options,
    topic_option,
    topic_settings,
)
from dehusk.streams.cli.shared.options import (
    Address,
    NumberRange,
    OptionalFile,
    Url,
    choice_option,
    enum_option,
    gathered_options,
    host_and_port,
    number_option,
    require_both,
    seconds_option,
    was_typed,
)
from dehusk.streams.cli.shared.page_options import (
    document_options,
    page_limit_options,
    require_folders,
    require_place,
    site_key_option,
    source_options,
)
from dehusk.streams.cli.shared.service_options import (
    labeler_option,
    model_options,
    redis_options,
    repository_option,
    require_labeler_of_model,
    triton_option,
    triton_settings,
)
from dehusk.streams.heap import warn_of_little_memory
from dehusk.streams.logs import configure_logs
from dehusk.streams.settings import (
    MOST_PROCESSES,
    FlowLimits,
    TopicSettings,
    TritonSettings,
    ValueFormat,
    WhenTritonIsUnavailable,
)
from dehusk.streams.topics.formats import FORMATS
from dehusk.streams.worker_settings import MonitoringSettings, WorkerSettings, default_processes

_TOPICS = TopicSettings()
_WORKER = WorkerSettings()


def _log_json(_context: click.Context, _option: click.Parameter, as_json: bool) -> bool:
    """Log JSON from here on, so that errors in other options are JSON, too."""
    if as_json:
        configure_logs("info", as_json=True)
    return as_json


def _token(_context: click.Context, _option: click.Parameter, token: str | None) -> str | None:
    """Return a token that fits into a header and a URL; None for an empty one, too."""
    if token and not re.fullmatch(r"[A-Za-z0-9._~-]{16,}", token):
        raise click.BadParameter("it needs 16 characters or more, all of them letters, digits or one of -._~")
    return token or None


def _flow(*, processes: int, grace_seconds: float) -> FlowLimits:
    return FlowLimits(batches=processes + 2, grace_seconds=grace_seconds)


def _monitoring(
    *,
    monitoring: str,
    monitoring_token: str | None,
    monitoring_certificate_file: Path | None,
    monitoring_key_file: Path | None,
    no_inspector: bool,
) -> MonitoringSettings:
    files = (monitoring_certificate_file, monitoring_key_file)
    require_both("monitoring", *files)
    return MonitoringSettings(*host_and_port(monitoring), monitoring_token, *files, not no_inspector)


@click.command(
    name="worker",
    epilog="Stop it with SIGTERM or Ctrl-C: it finishes what it has begun, commits, and leaves the group. "
    "Start more of them, with the same --group, to go faster: Kafka shares the partitions out.",
)
@kafka_options
@topic_option(
    "--input",
    "input_topic",
    default=_TOPICS.input,
    metavar="TOPIC,…",
    help="The topics that the crawler writes its pages to: names separated by commas, or one regular "
    "expression that begins with ^, e.g. ^crawl- for all topics, also new ones, whose names begin so.",
)
@topic_option(
    "--output",
    default=_TOPICS.output,
    help="The topic for cleaned documents; their key is the page's URL.",
)
@topic_option(
    "--dead-letters",
    default=_TOPICS.dead_letters,
    help="The topic for messages that cannot be cleaned, each with the reason in its headers.",
)
@optional_topic_option(
    "--unsure-topic",
    help="A topic for documents whose expected_f1 is below --unsure-below, which --output has, too: for a "
    "slower extractor or a person. None by default.",
)
@click.option(
    "--unsure-below",
    type=NumberRange(0, 1),
    metavar="F1",
    default=_WORKER.unsure_below,
    show_default=True,
    help="The expected_f1 below which documents go to --unsure-topic.",
)
@membership_options
@source_options
@labeler_option(
    default="triton",
    help="Labeler of the blocks: the model on Triton, the same model in this process, or one "
    "without a model, as Boilerpipe's rules.",
)
@repository_option(
    help="The models of --labeler onnx, as DIR/NAME/NUMBER/model.onnx.",
    shown="those that come with dehusk",
)
@triton_option()
@model_options
@seconds_option(
    "--triton-seconds",
    least=0.1,
    default=TritonSettings().timeout,
    help="Time limit of a request to Triton, after which it counts as unavailable.",
)
@enum_option(
    "--when-triton-is-unavailable",
    default=WhenTritonIsUnavailable.WAIT,
    help="`wait` reads no further until Triton is back; `rules` goes on with Boilerpipe's rules and marks "
    "the documents as degraded.",
)
@redis_options(
    help="The Redis that counts on how many pages of a site each block stands. While it is unavailable, "
    "pages are cleaned without and marked as degraded."
)
@site_key_option
@revisit_options
@choice_option(
    "--format",
    values=FORMATS,
    default=_WORKER.format,
    help="Format of documents: dehusk's JSON, a line for datatrove or Dolma, Markdown, or "
    "HTML of the content alone.",
)
@enum_option(
    "--value-format",
    default=_WORKER.value_format,
    help="Encoding of documents: bare JSON, or by a schema of --schema-registry, JSON, Avro or protobuf, in "
    "Confluent's wire format. The worker registers the schema at its start. Other topics keep their format.",
)
@click.option(
    "--schema-subject",
    metavar="NAME",
    help="With --value-format: the subject of the schema of documents; by default that of the output topic, "
    "TOPIC-value.",
)
@compression_option
@document_options(click.option("--with-blocks", is_flag=True, help="List every block with its probability."))
@number_option(
    "--processes",
    default=default_processes,
    shown="one per processor, at most 4",
    most=MOST_PROCESSES,
    help="Processes that take pages apart and write documents, up to 60 MB each. Beyond 4, another worker "
    "gains more.",
)
@page_limit_options("is a dead letter")
@seconds_option(
    "--session-seconds",
    least=1.0,
    default=_WORKER.session_seconds,
    help="Session timeout, after which Kafka gives the pages of a worker that died to others; within the "
    "brokers' group.min.session.timeout.ms and group.max.session.timeout.ms.",
)
@click.option(
    "--group-instance",
    metavar="NAME",
    help="Make this worker a static member of the group, by a name that no other worker has: it keeps its "
    "partitions while it is restarted within --session-seconds. None by default.",
)
@seconds_option(
    "--grace-seconds",
    least=1.0,
    default=FlowLimits().grace_seconds,
    help="Time limit of a stop; what the worker has not finished by then, another one does.",
)
@click.option(
    "--monitoring",
    type=Address(),
    metavar="HOST:PORT",
    default=f"{_WORKER.monitoring.host}:{_WORKER.monitoring.port}",
    show_default=True,
    help="Address of the live page for browsers, /metrics for Prometheus, /healthz and /readyz; port 0 is "
    "any free one, which the log names.",
)
@click.option(
    "--monitoring-token",
    metavar="TOKEN",
    callback=_token,
    help="Token required by all these pages but /healthz, /livez and /readyz, 16 characters or more: as "
    "`Authorization: Bearer TOKEN`, or in a browser once as /?token=TOKEN. None by default. Prefer the "
    "environment variable: `ps` shows options to everyone.",
)
@click.option(
    "--monitoring-certificate-file",
    type=OptionalFile(),
    help="PEM file of the certificate, with those that it is signed by, with which these pages are served by "
    "HTTPS; by default they are served by HTTP. A renewed file is taken up within seconds.",
)
@click.option(
    "--monitoring-key-file",
    type=OptionalFile(),
    help="PEM file of the key of --monitoring-certificate-file, not encrypted.",
)
@click.option(
    "--webhook",
    type=Url("http", "https"),
    metavar="URL",
    help="With --control-topic: post a JSON object to this URL when workers of the group take a version "
    "back or pause a promotion, and when one of them is gone without having been stopped. Give it to all "
    "workers of the group. None by default. Prefer the environment variable: `ps` shows options to "
    "everyone.",
)
@click.option(
    "--otlp",
    type=Url("http", "https"),
    metavar="URL",
    help="Export a span for each batch, each of its steps, and each message with a `traceparent` that is "
    "sampled, to the OpenTelemetry collector at this address, e.g. http://collector:4318, by OTLP over HTTP. "
    "None by default. Variables OTEL_… set the sampler, headers and resource.",
)
@click.option(
    "--no-inspector",
    is_flag=True,
    help="Leave out /inspect/ of these pages, where pages of this worker are inspected in a process beside "
    "it. It is left out, too, where others than this machine reach them and no token guards them.",
)
@choice_option(
    "--log-level",
    values=["debug", "info", "warning", "error"],
    default="info",
    help="The least severe events that are logged, on standard error.",
)
@click.option(
    "--log-json",
    is_flag=True,
    is_eager=True,
    callback=_log_json,
    help="Log JSON lines, for log collectors, of errors that end the worker, too.",
)
@gathered_options("topics", topic_settings)
@gathered_options("triton", triton_settings)
@gathered_options("flow", _flow)
@gathered_options("monitoring", _monitoring)
@gathered_options("settings", WorkerSettings)
def command(*, settings: WorkerSettings, log_level: str, log_json: bool) -> None:
    """Clean the pages of a Kafka topic while the crawl runs.

    Reads the pages of any crawler from the input topics, takes navigation, banners and footers off, and
    writes the main content to the output topic. A page is committed once its document, or its dead letter, is
    safe: however the worker ends, no page is lost.

    The topics must exist: `dehusk probe TOPIC` looks at the input and says what is missing. To see everything
    run on this machine first: `dehusk demo`.
    """
    configure_logs(log_level, as_json=log_json)
    warn_of_little_memory()  # before the modules that take most of it
    with loading():
        from dehusk.streams.worker.run import run_worker

    require_folders(settings.source, settings.source_settings)
    if settings.value_format is not ValueFormat.JSON:
        _check_value_format(settings)
    elif was_typed("schema_subject"):
        raise click.UsageError("--schema-subject is for the schema of a --value-format other than json")
    require_labeler_of_model(settings.labeler)
    require_place(settings.format, settings.options)
    if settings.topics.control:
        _check_versions(settings)
    elif settings.webhook:
        raise click.UsageError("--webhook tells of the workers on a control topic: give --control-topic, too")
    asyncio.run(run_worker(settings))


def _check_value_format(settings: WorkerSettings) -> None:
    from dehusk.streams.topics.value_formats import NO_REGISTRY, NO_SCHEMA

    if settings.format != "document":
        raise click.UsageError(NO_SCHEMA)
    if settings.source_settings.schema_registry is None:
        raise click.UsageError(NO_REGISTRY)


def _check_versions(settings: WorkerSettings) -> None:
    if settings.triton.version:
        raise click.UsageError("--control-topic says which versions label: leave --model-version out")
    if settings.labeler in LOCAL_LABELERS:
        raise click.UsageError(
            f"--control-topic is for a model's versions, and --labeler {settings.labeler} has no model"
        )
