"""Leaving a command whose standard input has not ended."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = "from streams.cli import main; main()"
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
