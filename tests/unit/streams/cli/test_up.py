from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.cli.shared.terminal import plain_console
from dehusk.streams.cli.up import _show, command, command_lines
from dehusk.streams.local.stack import Addresses


def test_the_commands_can_be_typed_as_this_program_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dehusk.streams.cli.up.program", lambda: ".venv/bin/dehusk")
    lines = command_lines(Addresses("h:1", "redis://h:3/0", "h:4", "h:5", "/d")).values()
    assert {line.split(" --")[0] for line in lines} == {
        ".venv/bin/dehusk worker",
        ".venv/bin/dehusk feed",
        ".venv/bin/dehusk read",
        ".venv/bin/dehusk top",
        ".venv/bin/dehusk why",
        ".venv/bin/dehusk model list",
        ".venv/bin/dehusk probe TOPIC",
    }


def test_the_commands_hold_the_addresses() -> None:
    worker, feed, read, top, why, versions, probe, own = command_lines(
        Addresses("h:1,h:2", "redis://h:3/0", "h:4", "h:5", "/d")
    ).values()
    services = (
        "--brokers h:1,h:2 --redis redis://h:3/0 --triton h:4 --audit-topic dehusk-audit "
        "--monitoring-topic dehusk-monitoring --control-topic dehusk-control"
    )
    assert worker == f"dehusk worker {services}"
    assert probe == f"dehusk probe TOPIC --create {services}"
    assert own == f"dehusk worker --input TOPIC {services}"
    assert feed == "dehusk feed --brokers h:1,h:2 PATH"
    assert read == "dehusk read --brokers h:1,h:2 --follow"
    assert top == "dehusk top --brokers h:1,h:2"
    assert why == "dehusk why --brokers h:1,h:2 --audit-topic dehusk-audit URL"
    assert versions == "dehusk model list --brokers h:1,h:2 --control-topic dehusk-control --triton h:4"


def test_the_commands_hold_the_repository_that_was_named() -> None:
    lines = command_lines(Addresses("h:1", "redis://h:3/0", "", "", "/d"), Path("/my models"))
    assert lines["The versions of its models"].endswith(
        "--control-topic dehusk-control --without-triton --model-repository '/my models'"
    )


def test_a_repository_without_a_model_is_named(tmp_path: Path) -> None:
    ended = CliRunner().invoke(command, ["--model-repository", str(tmp_path)])
    assert isinstance(ended.exception, ConfigurationError)
    assert str(ended.exception) == f"{tmp_path} holds no model"


def test_a_folder_is_shown_as_it_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    stack = Mock(
        taken_ports={}, triton_metrics="", addresses=Addresses("h:1", "redis://h:3/0", "", "", "/k[/b]")
    )
    _show(stack, plain_console(), DEFAULT_REPOSITORY, as_json=False)
    assert "Data and logs  /k[/b]" in capsys.readouterr().out


def test_without_triton_the_worker_runs_the_model_itself() -> None:
    worker, *_ = command_lines(Addresses("h:1", "redis://h:3/0", "", "", "/d")).values()
    assert (
        worker
        == "dehusk worker --brokers h:1 --redis redis://h:3/0 --labeler onnx --audit-topic dehusk-audit "
        "--monitoring-topic dehusk-monitoring --control-topic dehusk-control"
    )


@pytest.mark.parametrize("option", ["--keep", "--cache"])
def test_a_folder_that_cannot_be_written_is_named(option: str) -> None:
    result = CliRunner().invoke(command, [option, "/proc/nope", "--without-triton"])
    assert isinstance(result.exception, ConfigurationError)
    assert str(result.exception) == "cannot write /proc/nope: No such file or directory"
