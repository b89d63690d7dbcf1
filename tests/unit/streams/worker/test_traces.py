"""Settings that turn traces on."""

import re
import subprocess
import sys

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.wording import how_to_install
from dehusk.streams.worker.results import UNTRACED
from dehusk.streams.worker.run import open_traces


async def test_without_a_collector_there_are_none() -> None:
    async with open_traces(None, "news") as traces:
        assert traces is UNTRACED


async def test_who_lacks_opentelemetry_is_told_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.delitem(sys.modules, "dehusk.streams.worker.tracing.exporting", raising=False)
    with pytest.raises(ConfigurationError, match=rf"which --otlp needs.*{re.escape(how_to_install('otlp'))}"):
        async with open_traces("http://collector:4318", "news"):
            pass


def test_a_worker_without_export_does_not_load_what_makes_and_exports_spans() -> None:
    program = (
        "import asyncio, sys\n"
        "from dehusk.streams.worker import run\n"
        "asyncio.run(run.open_traces(None, 'g').__aenter__())\n"
        "unwanted = ('opentelemetry.sdk.trace', 'opentelemetry.exporter', 'opentelemetry.proto')\n"
        "print([name for name in sys.modules if name.startswith(unwanted)])"  # redis loads its metrics
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"
