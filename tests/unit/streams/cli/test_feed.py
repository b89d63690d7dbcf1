"""`dehusk feed`: what is wrong before anything is read or sent, and what is said when it is cut short."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dehusk.streams.cli import cli


def test_messages_that_point_to_archives_need_a_directory_for_them() -> None:
    result = CliRunner().invoke(cli, ["feed", "--as", "warc-pointer", "pages.jsonl"])
    assert (result.exit_code, "--warc-directory" in result.stderr) == (2, True)


CUT_SHORT = """\
import asyncio, os, signal, sys
import dehusk.streams.files.feeding, dehusk.streams.kafka.client
from dehusk.streams.cli import main
from dehusk.streams.kafka.producer import SendResult

async def describe_topic(kafka, topic, operation):
    pass

async def send(kafka, records, compression):
    sent = 0
    async for outgoing in records:
        if sent < 2:
            yield SendResult(outgoing, None)
            sent += 1
    os.kill(os.getpid(), int(os.environ["SIGNAL"]))
    await asyncio.Event().wait()

dehusk.streams.kafka.client.describe_topic, dehusk.streams.files.feeding.send = describe_topic, send
main()"""
"""Runs a command whose Kafka acknowledges two pages before a signal comes."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_feed_that_is_cut_short_says_what_was_sent(tmp_path: Path, number: signal.Signals) -> None:
    for name in "abc":
        (tmp_path / f"{name}.html").write_text("<p>text")
    command = [sys.executable, "-c", CUT_SHORT, "feed", "--base-url", "http://x.test", str(tmp_path)]
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"SIGNAL": str(int(number))}, timeout=60
    )
    assert ended.stdout.splitlines() == [
        "2 pages (54 bytes) sent to raw-pages",
        "1 perhaps sent, without an answer before the end",
    ]
    assert (ended.returncode, ended.stderr) == (128 + number, "dehusk: interrupted; 2 pages were sent\n")
