"""`dehusk read` without a Kafka."""

import subprocess
import sys

import pytest

from dehusk.streams.local.addresses import LOOPBACK, free_ports

COMMAND = [sys.executable, "-c", "from dehusk.streams.cli import main; main()", "read"]


@pytest.mark.parametrize("follow", [[], ["--follow"]])
def test_a_kafka_that_is_not_there_is_one_line_and_status_1(follow: list[str]) -> None:
    brokers = f"{LOOPBACK}:{free_ports(1)[0]}"
    command = [*COMMAND, "--brokers", brokers, *follow]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    (line,) = ended.stderr.splitlines()
    assert (ended.returncode, ended.stdout) == (1, "")
    assert line.startswith(
        f"dehusk: Kafka at {brokers} does not answer; is it running, and is --brokers right?"
    )
    assert "Connect call failed" in line
