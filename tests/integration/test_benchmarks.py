"""Every benchmark that CI can run, on a few pages and for a moment: its figures say nothing, but it runs."""

import json
import traceback
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import __main__ as command
from benchmarks import latency, memory, pairs, stream, triton
from dehusk.streams.local.stack import LocalStack

PAGES = 8


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    rows = [
        {
            "url": f"https://example.org/{number}",
            "title": f"Foxes {number}",
            "main_content": f"Fox number {number} sleeps here. " * 400,
            "html": f"<title>Foxes {number}</title><ul><li><a href=/>Home</a></ul>"
            f"<main><h1>Foxes {number}</h1><p>{f'Fox number {number} sleeps here. ' * 400}</main>",
        }
        for number in range(PAGES)
    ]
    path = tmp_path / "pages.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture
def moments(monkeypatch: pytest.MonkeyPatch, stack: LocalStack) -> None:
    """Have each measure for a moment, on the services of all tests."""

    def running(*_: object, **__: object) -> AbstractContextManager[LocalStack]:
        return nullcontext(stack)

    for module in (latency, memory, pairs, stream):
        monkeypatch.setattr(module, "LocalStack", running)
    hostile = dict(list(memory._PAGES.items())[:1])
    for module, values in (
        (latency, {"_PAGES": 12, "_FIRST_PAGES": 2}),
        (memory, {"_PAGES": hostile, "_ORDINARY_PAGES": 12, "_QUIET_PAGES": 2, "_PROCESSES": 1}),
        (pairs, {"_WARM_PAGES": 4, "_TIMED_PAGES": 12, "_IDLE_SECONDS": 0.5}),
        (stream, {"_LOOK_SECONDS": 0.02, "_ORDER": (True, False, True)}),
        (triton, {"IN_FLIGHT": (2,), "_SECONDS": 0.2, "_WARM_SECONDS": 0.1}),
    ):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)


@pytest.mark.usefixtures("moments")
@pytest.mark.parametrize(
    ("only", "shown"),
    [
        ("sites", "packed"),
        ("metadata", "trafilatura"),
        ("duplicates", "same hash"),
        ("markdown", "trafilatura"),
        ("memory", "12 of 12 ordinary pages have a document"),
        ("latency", "rules"),
        ("monitoring", "without pages"),
        ("delivery", "exactly-once"),
        ("triton", "in flight"),
        ("steps", "resiliparse"),
        ("stream", "rules"),
    ],
)
def test_a_benchmark_runs(only: str, shown: str, pages: Path, stack: LocalStack, tmp_path: Path) -> None:
    repeat = 1 if only == "memory" else 40
    options = f"--only {only} --every 1 --rounds 1 --repeat {repeat} --labeler rules --sites 1x40"
    paths = ["--pages", str(pages), "--ratios", str(tmp_path / "ratios.json")]
    result = CliRunner().invoke(
        command.main, [*options.split(), *paths, "--triton", stack.addresses.triton_grpc]
    )
    assert result.exit_code == 0, "".join(traceback.format_exception(result.exception))
    assert shown in result.output
