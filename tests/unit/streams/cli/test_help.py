"""Modules that `--help` loads: none that takes long."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from dehusk.streams.cli import cli

HEAVY = {
    *("aiohttp", "aiokafka", "faust", "google.protobuf", "grpc", "numpy", "onnxruntime", "prometheus_client"),
    *("publicsuffixlist", "redis", "selectolax", "tritonclient"),
}
LOADED = """
import json, sys
from dehusk.streams.cli import cli
begun, loaded = set(), {}
for words in sys.argv[1:]:
    cli([*words.split(), "--help"], standalone_mode=False)
    loaded[words] = sorted(sys.modules.keys() - begun)
    begun = set(sys.modules)
print(json.dumps(loaded), file=sys.stderr)
"""
COMMANDS = [
    "worker",
    "top",
    "probe",
    "feed",
    "read",
    "clean",
    "inspect",
    "label",
    "dead-letters list",
    "dead-letters replay",
    "sites show",
    "model list",
    "model verify",
    "model canary",
    "model status",
]


@pytest.fixture(scope="module")
def ended() -> subprocess.CompletedProcess[str]:
    """A process that showed the help of all commands, and told what it had loaded anew for each."""
    command = [sys.executable, "-c", LOADED, *COMMANDS]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)


def test_help_loads_the_command_line(ended: subprocess.CompletedProcess[str]) -> None:
    assert "click" in json.loads(ended.stderr)[COMMANDS[0]]


@pytest.mark.parametrize("words", COMMANDS)
def test_help_loads_neither_clients_nor_arrays(ended: subprocess.CompletedProcess[str], words: str) -> None:
    assert f"{words} [OPTIONS]" in ended.stdout
    assert set(json.loads(ended.stderr)[words]) & HEAVY == set()


def test_a_command_that_is_misspelt_is_told_the_one_that_was_meant() -> None:
    ended = CliRunner().invoke(cli, ["claen", "page.html"])
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (
        2,
        "Error: No such command 'claen'. Did you mean clean?",
    )
