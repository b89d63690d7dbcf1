import pytest

from streams.cli.up import worker_line
from streams.local.addresses import Addresses


def test_the_worker_line_can_be_typed_as_this_program_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.cli.up.program", lambda: ".venv/bin/dehusk")
    line = worker_line(Addresses("h:1", "redis://h:3/0", "h:4", "h:5", "/d"))
    assert line.startswith(".venv/bin/dehusk worker --brokers h:1 ")


def test_the_worker_line_holds_the_addresses() -> None:
    line = worker_line(Addresses("h:1,h:2", "redis://h:3/0", "h:4", "h:5", "/d"))
    assert line == "dehusk worker --brokers h:1,h:2 --redis redis://h:3/0 --triton h:4"


def test_without_triton_the_worker_runs_the_model_itself() -> None:
    line = worker_line(Addresses("h:1", "redis://h:3/0", "", "", "/d"))
    assert line == "dehusk worker --brokers h:1 --redis redis://h:3/0 --labeler onnx"
