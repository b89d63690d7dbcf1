"""`dehusk dead-letters`: which letters are meant."""

import re
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from dehusk.schemas.documents import Origin
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.cli import cli
from dehusk.streams.topics.dead_letters import dead_letter, read_dead_letter
from dehusk.streams.topics.replay import FoundLetter, LetterFilter


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


@pytest.mark.parametrize(("limit", "shown"), [("2", ["c", "b"]), ("0", []), ("9", ["d", "a", "c", "b"])])
def test_the_last_ones_are_those_that_failed_last_of_all_partitions(
    monkeypatch: pytest.MonkeyPatch, limit: str, shown: list[str]
) -> None:
    """Letters come partition by partition."""

    async def find_letters(*_: object) -> AsyncIterator[FoundLetter]:
        for partition, names in enumerate(("ab", "dc")):
            for offset, name in enumerate(names):
                yield found_letter(name, partition, offset)

    def found_letter(name: str, partition: int, offset: int) -> FoundLetter:
        message = Message(None, b"x", (), "raw", 0, offset)
        record = dead_letter(
            message, Broken(BrokenReason.TOO_MANY_BLOCKS, "many", f"https://{name}.test/"), "prepare"
        )
        letter = read_dead_letter(
            Message(record.key, record.value, record.headers, "dead", partition, offset)
        )
        assert letter is not None
        failed_at = datetime(2026, 1, 1, 0, 0, "dacb".index(name), tzinfo=UTC)
        return FoundLetter(letter, Origin("dead", partition, offset), failed_at, None)

    monkeypatch.setattr("dehusk.streams.topics.replay.find_letters", find_letters)
    result = CliRunner().invoke(cli, ["dead-letters", "list", "--limit", limit], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert re.findall(r"https://(\w)\.test/", result.stdout) == shown
    assert "4 dead letters on dead-letters" in result.stdout


MANY = """\
import asyncio
import sys
import dehusk.streams.topics.replay
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.cli import main
from dehusk.streams.topics.dead_letters import dead_letter

record = dead_letter(Message(None, b"x", (), "raw"), Broken(BrokenReason.TOO_MANY_BLOCKS, "many"), "prepare")

async def read(kafka, topic):
    try:
        for offset in range(20_000):
            yield Message(record.key, record.value, record.headers, topic, 0, offset), 0
    finally:
        await asyncio.sleep(0.1)
        sys.stderr.write("stopped\\n")

dehusk.streams.topics.replay.read = read
main()"""
"""Runs a command whose topic has many letters; it is read twice, by consumers that take a while to stop."""


def test_nobody_who_reads_the_letters_ends_their_list_with_its_consumers() -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", MANY, "dead-letters", "list", "--json"]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        assert (process.wait(timeout=60), said) == (141, b"stopped\n" * 2)
