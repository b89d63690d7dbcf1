"""`dehusk top`: a group of workers in a terminal, as their topic tells of it."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click
import orjson

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.cli.options import kafka_options
from dehusk.streams.cli.terminal import plain_console
from dehusk.streams.settings import MONITORING_TOPIC, KafkaSettings, TopicSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType

    from dehusk.streams.following import Following
    from dehusk.streams.group.group import Group

_REFRESH_SECONDS = 1.0
_WIDEST = 160
"""Columns of a report whose output is no terminal."""


@click.command(
    name="top",
    epilog="""\b
Examples:
  dehusk top --group news                            until q or Ctrl-C
  dehusk top --group news --once                     one report
  dehusk top --group news --json | jq .state.point   all figures, for programs""",
)
@kafka_options
@click.option(
    "--monitoring-topic",
    metavar="TOPIC",
    default=MONITORING_TOPIC,
    show_default=True,
    help="The topic that workers share their figures on with their option of this name.",
)
@click.option(
    "--group",
    metavar="NAME",
    default=TopicSettings().group,
    show_default=True,
    help="The consumer group of the workers.",
)
@click.option("--once", is_flag=True, help="Print one report; the same where the output is no terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print one report as one JSON object.")
def command(*, kafka: KafkaSettings, monitoring_topic: str, group: str, once: bool, as_json: bool) -> None:
    """Show a group of workers in this terminal, every second.

    Shows how fast the workers of a consumer group are together and each, the last hour, what is to come by
    partition, what gave no document and which dependencies are unavailable. Only the topic is read, in no
    group, so no worker needs to be reached. q or Ctrl-C ends it. One report ends with status 1 if no worker
    of the group runs.
    """
    console = plain_console()
    if once or as_json or not console.is_terminal:
        asyncio.run(_print(kafka, monitoring_topic, group, console, as_json=as_json))
        return
    with suppress(KeyboardInterrupt):
        asyncio.run(_show(kafka, monitoring_topic, group, console))


async def _print(kafka: KafkaSettings, topic: str, name: str, console: Console, *, as_json: bool) -> None:
    from dehusk.streams.cli.top_view import view
    from dehusk.streams.group.reading import read_group
    from dehusk.streams.group.report import report_of

    report = report_of(await read_group(kafka, topic, name))
    if as_json:
        click.echo(orjson.dumps(report))
    else:
        width = min(console.width, _WIDEST)
        console.print(view(report, width), width=width)
    if report.state is None:
        raise UnavailableError(f"no worker of group {name} shares its figures on topic {topic}")


async def _show(kafka: KafkaSettings, topic: str, name: str, console: Console) -> None:
    from dehusk.streams.following import Following
    from dehusk.streams.group.group import Group
    from dehusk.streams.kafka import describe_topic

    await describe_topic(kafka, topic)
    group = Group(name)
    following = Following(kafka, topic, group.handle, "what is shown is old")
    logging.getLogger().addHandler(logging.NullHandler())
    reading = asyncio.create_task(following.run())
    try:
        await _refresh(group, following, console, reading)
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading


async def _refresh(group: Group, following: Following, console: Console, reading: asyncio.Task[None]) -> None:
    """Show the group every second, until a key ends it or the reading does."""
    from rich.live import Live

    is_over = asyncio.Event()
    reading.add_done_callback(lambda _: is_over.set())
    with _keys(is_over), Live(console=console, screen=True, auto_refresh=False) as live:
        while not is_over.is_set():
            live.update(_screen(group, following, console), refresh=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(_REFRESH_SECONDS):
                    await is_over.wait()


def _screen(group: Group, following: Following, console: Console) -> RenderableType:
    from rich.console import Group as Lines
    from rich.text import Text

    from dehusk.streams.cli.top_view import view
    from dehusk.streams.group.report import report_of

    if not following.caught_up.is_set() and not following.dependency.unavailable:
        return Text("reading …")
    missing = [following.dependency.reason] if following.dependency.unavailable else []
    lines = [Text(line, "red", no_wrap=True, overflow="ellipsis") for line in missing]
    return Lines(*lines, view(report_of(group), console.width, console.height - len(lines)))


@contextmanager
def _keys(is_over: asyncio.Event) -> Iterator[None]:
    """Let q, and SIGINT, end it; the terminal is set back at the end."""
    import termios
    import tty

    loop = asyncio.get_running_loop()
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)

    def read() -> None:
        if sys.stdin.read(1) in {"q", "Q", ""}:
            is_over.set()

    tty.setcbreak(sys.stdin)
    loop.add_reader(sys.stdin, read)
    loop.add_signal_handler(signal.SIGINT, is_over.set)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_reader(sys.stdin)
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
