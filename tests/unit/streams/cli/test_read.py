"""`dehusk read` without a Kafka."""

import subprocess
import sys

import pytest

from dehusk.streams.local.folder import LOOPBACK, free_ports
from tests.commands import DEHUSK

ENDLESS = """\
import sys
import dehusk.streams.topics.documents
from dehusk.schemas.pages import Message
from dehusk.streams.cli import main

async def read_documents(kafka, topic, newest, follow):
    while True:
        yield Message(b"http://a.test/", b'{"text": "Corn"}', ())

dehusk.streams.topics.documents.read_documents = read_documents
main()"""
"""Runs a command whose Kafka has documents without end."""


@pytest.mark.parametrize("options", [[], ["--text"], ["--follow"]])
def test_nobody_who_reads_its_documents_ends_it_as_the_other_commands(options: list[str]) -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", ENDLESS, "read", *options]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe) as process:
        assert process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        assert (process.wait(timeout=60), said) == (141, b"")


@pytest.mark.parametrize("follow", [[], ["--follow"]])
def test_a_kafka_that_is_not_there_is_one_line_and_status_1(follow: list[str]) -> None:
    brokers = f"{LOOPBACK}:{free_ports(1)[0]}"
    command = [DEHUSK, "read", "--brokers", brokers, *follow]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    (line,) = ended.stderr.splitlines()
    assert (ended.returncode, ended.stdout) == (1, "")
    assert line.startswith(
        f"dehusk: Kafka at {brokers} does not answer; is it running, and is --brokers right?"
    )
    assert "Connect call failed" in line
