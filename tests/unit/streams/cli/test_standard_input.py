"""Leaving a command whose standard input has not ended, or whose output nobody reads any more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = "from dehusk.streams.cli import main; main()"
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


STUBBED = """\
import dehusk.streams.probing, dehusk.streams.reading
from dehusk.schemas.pages import Message
from dehusk.streams.cli import main
from dehusk.streams.kafka import Topic

async def read_documents(*_, **__):
    yield Message(b"key", b"value")

async def probe(*_, **__):
    return dehusk.streams.probing.Probe((Topic("raw", 1, 1),), (), ())

dehusk.streams.reading.read_documents, dehusk.streams.probing.probe = read_documents, probe
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
