"""Commands that are interrupted, or whose output cannot be written."""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from dehusk.streams.cli.shared.interrupts import loading

HEAR_HANG_UP = """\
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])"""
IN_A_TERMINAL = [sys.executable, "-c", HEAR_HANG_UP]
"""Runs a command that the end of its terminal ends, also where these tests run under nohup."""
RUN = "from dehusk.streams.cli import main; main()"
HANG_UP = """\
import os, signal
from dehusk.streams.cli.shared.interrupts import interrupt_on_signals
interrupt_on_signals()
os.kill(os.getpid(), signal.SIGHUP)
print("alive")"""
ASKING = """\
import asyncio
from dehusk.streams.cli.shared.interrupts import interrupt_on_signals
from dehusk.streams.cli.shared.terminal import ask
async def forget():
    ask("Forget all sites?", "nothing is forgotten", yes=False)
interrupt_on_signals()
asyncio.run(forget())"""
CUT_SHORT = """\
import click, dehusk.streams.cli
@click.command()
def command():
    raise EOFError("cut short")
dehusk.streams.cli.cli = command
dehusk.streams.cli.main()"""

INTERRUPTED_WHILE_LOADING = """\
import signal, sys
from dehusk.streams.__main__ import main

class Interrupter:
    def find_spec(self, name, path, target=None):
        if name == "dehusk.streams.cli":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupter())
main()"""


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        yield server


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        (["probe", "pages"], signal.SIGINT),
        (["probe", "pages"], signal.SIGTERM),
        (["probe", "pages"], signal.SIGHUP),
        (["feed", "-"], signal.SIGTERM),
        (["dead-letters", "list"], signal.SIGINT),
    ],
)
def test_the_status_tells_the_signal_and_nothing_is_said(
    silent: socket.socket, arguments: list[str], number: signal.Signals
) -> None:
    brokers = f"127.0.0.1:{silent.getsockname()[1]}"
    command = [*IN_A_TERMINAL, sys.executable, "-c", RUN, *arguments, "--brokers", brokers]
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT) as process,
        silent.accept()[0] as connection,
    ):
        assert connection.recv(1)  # now it waits for an answer
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    assert (process.returncode, output.strip()) == (128 + number, b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_question_is_ended_by_one_signal(number: signal.Signals) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", ASKING], stdin=pipe, stderr=pipe) as process:
        assert process.stderr is not None
        assert process.stderr.read(len("Forget all sites? [y/N] "))
        process.send_signal(number)
        try:
            process.wait(timeout=60)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGINT


def test_a_command_outlives_its_terminal_where_nohup_says_so() -> None:
    command = shlex.join([sys.executable, "-c", HANG_UP])
    ended = subprocess.run(["sh", "-c", f"trap '' HUP; exec {command}"], capture_output=True, check=True)
    assert ended.stdout == b"alive\n"


@pytest.mark.parametrize(("arguments", "status"), [(["--help"], 0), (["probe"], 2), (["worker", "--x"], 2)])
def test_what_click_ends_has_the_status_of_click(arguments: list[str], status: int) -> None:
    command = [sys.executable, "-c", RUN, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == status
    assert "Usage: " in ended.stdout + ended.stderr


def test_a_file_that_ends_early_is_no_interruption() -> None:
    ended = subprocess.run([sys.executable, "-c", CUT_SHORT], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "EOFError: cut short" in ended.stderr


def test_an_interrupt_while_modules_load_comes_behind_it() -> None:
    loaded = []

    def load() -> None:
        with loading():
            signal.raise_signal(signal.SIGINT)
            loaded.append(True)

    with pytest.raises(KeyboardInterrupt):
        load()
    assert loaded


def test_an_interrupt_while_the_command_line_loads_ends_it_without_a_word() -> None:
    command = [sys.executable, "-c", INTERRUPTED_WHILE_LOADING]
    ended = subprocess.run(command, capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


def test_the_module_runs_the_command_line() -> None:
    command = [sys.executable, "-m", "dehusk", "--version"]
    assert b"(model dehusk/" in subprocess.run(command, capture_output=True, check=True).stdout


PAGE = '{"html": "<p>text"}\n'


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["--help"], ["clean", "--labeler", "rules", "--processes", "1"]])
def test_a_full_disk_is_said_in_one_line(arguments: list[str], unbuffered: str) -> None:
    command = [sys.executable, "-c", RUN, *arguments]
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    pipe = subprocess.PIPE
    with (
        Path("/dev/full").open("w") as full,
        subprocess.Popen(
            command, stdin=pipe, stdout=full, stderr=pipe, env=environment, text=True
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(PAGE)
        process.stdin.flush()  # and stays open: the command must not wait for its end
        said = process.stderr.read()
    assert (process.returncode, said) == (1, "dehusk: cannot write the output: No space left on device\n")


@pytest.mark.parametrize(
    ("closed", "said"),
    [
        (">&-", "cannot write the output: Bad file descriptor"),
        ("<&-", "pages may be lost: standard input cannot be read to its end: [Errno 9] Bad file descriptor"),
    ],
)
def test_a_stream_that_is_closed_is_said_in_one_line(closed: str, said: str) -> None:
    command = shlex.join([sys.executable, "-c", RUN, "clean", "--labeler", "rules", "--processes", "1"])
    ended = subprocess.run(
        ["sh", "-c", f"{command} {closed}"], input=PAGE, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == f"dehusk: {said}"


def test_messages_that_nobody_can_see_cost_no_output() -> None:
    command = shlex.join([sys.executable, "-c", RUN, "clean", "--labeler", "rules", "--processes", "1"])
    ended = subprocess.run(["sh", "-c", f"{command} 2>&-"], input=PAGE.encode(), stdout=-1, check=True)
    assert ended.stdout.startswith(b"{")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_takes_a_part_at_a_time_gets_all(unbuffered: str) -> None:
    command = [sys.executable, "-c", RUN, "clean", "--labeler", "rules", "--processes", "1"]
    page = orjson.dumps({"html": f"<p>{'text ' * 40_000}"})
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with subprocess.Popen(
        command, stdin=-1, stdout=writing, env=os.environ | {"PYTHONUNBUFFERED": unbuffered}
    ) as process:
        os.close(writing)
        assert process.stdin is not None
        with process.stdin, open(reading, "rb") as output:  # noqa: PTH123 a descriptor
            process.stdin.write(page)
            process.stdin.close()
            time.sleep(1)  # in which the pipe fills
            (line,) = output.readlines()
    assert (process.returncode, len(orjson.loads(line)["text"]) > 100_000) == (0, True)


STUBBED = """\
import dehusk.streams.probe.topic, dehusk.streams.topics.documents
from dehusk.schemas.pages import Message
from dehusk.streams.cli import main
from dehusk.streams.kafka.client import Topic

async def read_documents(*_, **__):
    yield Message(b"key", b"value")

async def probe(*_, **__):
    return dehusk.streams.probe.topic.Probe((Topic("raw", 1, 1),), (), ())

dehusk.streams.topics.documents.read_documents, dehusk.streams.probe.topic.probe = read_documents, probe
main()"""
"""Runs a command whose Kafka holds a document."""


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["read"], ["read", "--follow"], ["probe", "raw"], ["clean", "--labeler", "rules"]],
)
def test_a_closed_pipe_ends_every_command_silently_with_the_same_status(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", STUBBED, *arguments]
    ended = subprocess.run(
        command, input=PAGE, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, timeout=60
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, "")
