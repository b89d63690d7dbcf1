"""`dehusk dead-letters`: which letters are meant."""

import pytest
from click.testing import CliRunner

from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.cli import cli
from dehusk.streams.topics.replay import LetterFilter


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> list[LetterFilter]:
    """Record the requests to the topic, which holds nothing."""
    asked: list[LetterFilter] = []

    async def find_letters(_kafka: object, _topic: str, wanted: LetterFilter):  # type: ignore[no-untyped-def]
        asked.append(wanted)
        for letter in ():
            yield letter

    monkeypatch.setattr("dehusk.streams.topics.replay.find_letters", find_letters)
    return asked


@pytest.mark.parametrize("command", ["list", "replay"])
def test_a_reason_that_no_letter_has_is_refused_with_those_that_there_are(
    wanted: list[LetterFilter], command: str
) -> None:
    result = CliRunner().invoke(cli, ["dead-letters", command, "--reason", "page-to-large"])
    assert (result.exit_code, wanted) == (2, [])
    said = result.stderr.splitlines()[-1]
    assert "Invalid value for '--reason'" in said
    assert "'page-to-large' is none of these: page-too-large, " in said
    assert [reason for reason in BrokenReason if reason not in said] == []


@pytest.mark.parametrize("reason", ["page-too-large", "org.example.DataException", "ValueError"])
def test_reasons_of_dehusk_and_of_other_programs_are_looked_for(
    wanted: list[LetterFilter], reason: str
) -> None:
    result = CliRunner().invoke(cli, ["dead-letters", "list", "--reason", reason])
    assert (result.exit_code, result.stdout) == (0, "0 dead letters on dead-letters\n")
    assert [each.reason for each in wanted] == [reason]
