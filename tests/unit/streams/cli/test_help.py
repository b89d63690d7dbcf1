"""What `--help` loads: nothing that takes long."""

import subprocess
import sys

import pytest

HEAVY = {
    *("aiohttp", "aiokafka", "faust", "grpc", "numpy", "onnxruntime", "prometheus_client"),
    *("publicsuffixlist", "redis", "selectolax", "tritonclient"),
}
LOADED = """
import sys
from dehusk.streams.cli import cli
cli(sys.argv[1:], standalone_mode=False)
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(
    "words",
    [
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
    ],
)
def test_help_loads_neither_clients_nor_arrays(words: str) -> None:
    command = [sys.executable, "-c", LOADED, *words.split(), "--help"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert f"{words} [OPTIONS]" in ended.stdout
    loaded = set(ended.stderr.split())
    assert "click" in loaded
    assert loaded & HEAVY == set()
