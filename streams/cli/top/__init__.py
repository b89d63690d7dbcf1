"""`dehusk top`: a group of workers in a terminal, as their topic tells of it."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.cli.shared.kafka_options import group_option, kafka_options, optional_topic_option
from dehusk.streams.cli.shared.options import json_option
from dehusk.streams.cli.shared.terminal import plain_console, print_object
from dehusk.streams.settings import MONITORING_TOPIC, KafkaSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType

    from dehusk.streams.kafka.reader import TopicFollower
    from dehusk.streams.monitoring.group import Group

_KEYS = 64
"""Bytes of keys that are read at once."""
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
@optional_topic_option(
    "--monitoring-topic",
    default=MONITORING_TOPIC,
    help="The topic that workers share their figures on with their option of this name.",
)
@group_option("The consumer group of the workers.")
@click.option("--once", is_flag=True, help="Print one report; the same where the output is no terminal.")
@json_option("Print one report as one JSON object.")
def command(*, kafka: KafkaSettings, monitoring_topic: str, group: str, once: bool, as_json: bool) -> None:
    """Show a group of workers in this terminal, every second.

    Shows the throughput of the workers of a consumer group together and of each, the last hour, the lag by
    partition, the pages without a document, and unavailable dependencies. Only the topic is read, in no
    group, so no worker needs to be reached. It listens first until each worker is heard of or has been silent
    for four seconds. q or Ctrl-C ends it. One report ends with status 1 if no worker of the group runs.
    """
    console = plain_console()
    if once or as_json or not console.is_terminal:
        asyncio.run(_print(kafka, monitoring_topic, group, console, as_json=as_json))
        return
    with suppress(KeyboardInterrupt):
        asyncio.run(_show(kafka, monitoring_topic, group, console))


async def _print(kafka: KafkaSettings, topic: str, name: str, console: Console, *, as_json: bool) -> None:
    from dehusk.streams.cli.top.view import render
    from dehusk.streams.monitoring.group import read_group

    report = (await read_group(kafka, topic, name)).report()
    if as_json:
        print_object(report)
    else:
        width = min(console.width, _WIDEST)
        console.print(render(report, width), width=width)
    if report.state is None:
        raise UnavailableError(
            f"no worker of group {name} shares its figures on topic {topic}: start workers with "
            f"--monitoring-topic {topic}"
        )


async def _show(kafka: KafkaSettings, topic: str, name: str, console: Console) -> None:
    from dehusk.streams.kafka.client import describe_topic
    from dehusk.streams.kafka.reader import TopicFollower
    from dehusk.streams.monitoring.group import Group

    await describe_topic(kafka, topic)
    group = Group(name)
    following = TopicFollower(kafka, topic, group.handle, "what is shown is old")
    logging.getLogger().addHandler(logging.NullHandler())
    reading = asyncio.create_task(following.run())
    try:
        await _refresh(group, following, console, reading)
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading


async def _refresh(
    group: Group, following: TopicFollower, console: Console, reading: asyncio.Task[None]
) -> None:
    """Show the group every second, until a key ends it or the reading does."""
    from rich.live import Live

    is_over, since = asyncio.Event(), math.inf
    reading.add_done_callback(lambda _: is_over.set())
    with _keys(is_over), Live(console=console, screen=True, auto_refresh=False) as live:
        while not is_over.is_set():
            if following.caught_up.is_set():
                since = min(since, time.monotonic())
            live.update(_screen(group, following, console, since), refresh=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(_REFRESH_SECONDS):
                    await is_over.wait()


def _screen(group: Group, following: TopicFollower, console: Console, since: float) -> RenderableType:
    """Return the group as it is, once each worker has been heard of since that time, or is silent."""
    from rich.console import Group as Lines
    from rich.text import Text

    from dehusk.streams.cli.top.view import render

    is_reading = math.isinf(since) or group.awaits(since)
    if is_reading and not following.dependency.unavailable:
        return Text("reading …")
    missing = [following.dependency.reason] if following.dependency.unavailable else []
    lines = [Text(line, "red", no_wrap=True, overflow="ellipsis") for line in missing]
    return Lines(*lines, render(group.report(), console.width, console.height - len(lines)))


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
        keys = os.read(sys.stdin.fileno(), _KEYS)
        if not keys or b"q" in keys.lower():
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
