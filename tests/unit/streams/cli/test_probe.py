"""`dehusk probe`: what the command prints of a topic that was looked at."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import cli, probe
from streams.kafka import Topic
from streams.probing import Finding, Probe, ProbedMessage, Verdict


@pytest.fixture(autouse=True)
def probed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic with a page with a long URL and a message that is skipped."""
    page = Finding(Verdict.PAGE, None, "http://x.test/" + "a" * 300, "utf-8", 10, 7)
    skipped = Finding(Verdict.SKIPPED, "no-body: nothing")
    messages = (
        ProbedMessage("raw", 0, 3, 400, "html", (page,)),
        ProbedMessage("raw", 1, 0, 9, None, (skipped,)),
    )

    async def look(*_: object, **__: object) -> Probe:
        return Probe((Topic("raw", 2, 1),), messages, ())

    monkeypatch.setattr("streams.probing.probe", look)
    monkeypatch.setattr(probe, "program", lambda: ".venv/bin/dehusk")


@pytest.fixture
def lines() -> list[str]:
    """The lines that a pipe gets."""
    return CliRunner().invoke(probe.command, ["raw", "--brokers", "k:9"]).stdout.splitlines()


def test_a_pipe_gets_a_line_for_each_finding_without_padding(lines: list[str]) -> None:
    assert lines[:3] == [
        "message\tformat\tbytes\tbecomes\tencoding\tblocks\tURL\twhy",
        "raw/0/3\thtml\t400 bytes\tpage\tutf-8\t7\thttp://x.test/" + "a" * 300 + "\t",
        "raw/1/0\tunknown\t9 bytes\tskipped\t\t\t\tno-body: nothing",
    ]


def test_the_worker_can_be_started_as_this_program_was(lines: list[str]) -> None:
    assert "  .venv/bin/dehusk worker --input raw --source html --brokers k:9" in lines


def test_the_worker_is_given_what_a_file_and_the_environment_say(tmp_path: Path) -> None:
    file = tmp_path / "dehusk.toml"
    file.write_text('brokers = "k:9"\n[probe]\noutput = "out"')
    command = ["probe", "raw", "--config", str(file)]
    result = CliRunner().invoke(cli, command, env={"DEHUSK_MAX_PAGE_MIB": "3"}, catch_exceptions=False)
    options = "--brokers k:9 --max-page-mib 3 --output out"
    assert f"  .venv/bin/dehusk worker --input raw --source html {options}" in result.stdout.splitlines()
