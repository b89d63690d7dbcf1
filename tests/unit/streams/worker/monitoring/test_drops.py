"""Reports of messages that give no document."""

import logging

import pytest

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message
from dehusk.streams.logs import ABOUT
from dehusk.streams.preparation.steps import WrittenDocument
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.monitoring.drops import DropLog
from dehusk.streams.worker.results import CleanedMessage

URL = "https://example.org/a"


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "dehusk")
    return caplog


def skipped(reason: SkipReason, offset: int, detail: str = "status 404") -> CleanedMessage:
    message = Message(b"k", b"v", (), "raw", 3, offset)
    return CleanedMessage(message, skipped=[Skipped(reason, detail, URL)])


def failed(reason: BrokenReason, offset: int) -> CleanedMessage:
    cleaned = CleanedMessage(Message(b"k", b"v", (), "raw", 3, offset))
    cleaned.fail("prepare", Broken(reason, "bad"))
    return cleaned


def levels(said: pytest.LogCaptureFixture) -> list[str]:
    return [record.levelname for record in said.records]


def test_the_first_skipped_message_of_a_reason_is_a_warning(said: pytest.LogCaptureFixture) -> None:
    drops = DropLog("k:1", "dead")
    for reason in (SkipReason.ERROR_STATUS, SkipReason.ERROR_STATUS, SkipReason.NO_BODY):
        drops.note(skipped(reason, 7))
    assert levels(said) == ["WARNING", "DEBUG", "WARNING"]
    first, second, _ = said.messages
    assert first.startswith(f"skipped: error-status: status 404 (raw/3/7, {URL}); ")
    assert 'dehusk_skipped_total{reason="error-status"}' in first
    assert second == f"skipped: error-status: status 404 (raw/3/7, {URL})"


def test_the_first_dead_letter_of_a_reason_is_a_warning(said: pytest.LogCaptureFixture) -> None:
    drops = DropLog("k:1", "dead")
    for offset in range(3):
        drops.note(failed(BrokenReason.UNKNOWN_FORMAT, offset))
    assert levels(said) == ["WARNING", "DEBUG", "DEBUG"]
    assert "unknown-format: bad (raw/3/0); " in said.messages[0]
    command = "`dehusk dead-letters list --topic dead --brokers k:1 --reason unknown-format`"
    assert command in said.messages[0]


def test_brokers_that_are_the_default_need_not_be_named(said: pytest.LogCaptureFixture) -> None:
    DropLog("localhost:9092", "dead").note(failed(BrokenReason.UNKNOWN_FORMAT, 0))
    assert "`dehusk dead-letters list --topic dead --reason unknown-format`" in said.messages[0]


@pytest.mark.parametrize("reason", [BrokenReason.INTERNAL_ERROR, BrokenReason.PROCESS_CRASHED])
def test_each_bug_is_a_warning(said: pytest.LogCaptureFixture, reason: BrokenReason) -> None:
    drops = DropLog("k:1", "dead")
    for offset in range(2):
        drops.note(failed(reason, offset))
    assert levels(said) == ["WARNING", "WARNING"]
    assert ["dead-letters list" in message for message in said.messages] == [True, False]


def test_what_strangers_wrote_is_shown_in_part_and_without_escapes(said: pytest.LogCaptureFixture) -> None:
    DropLog("k:1", "dead").note(skipped(SkipReason.NOT_HTML, 0, "\x1b[2J\n" + "x" * 5000))
    assert said.messages[0].startswith(r"skipped: not-html: \x1b[2J\nxxx")
    assert len(said.messages[0]) < 600


def test_a_document_is_not_worth_a_word(said: pytest.LogCaptureFixture) -> None:
    DropLog("k:1", "dead").note(CleanedMessage(Message(b"k", b"v"), records=[Record(b"k", b"document")]))
    assert said.messages == []


def test_the_latest_of_each_reason_are_kept() -> None:
    drops = DropLog("k:1", "dead")
    for offset in range(8):
        drops.note(skipped(SkipReason.ERROR_STATUS, offset, f"status {400 + offset}"))
    drops.note(failed(BrokenReason.UNKNOWN_FORMAT, 9))
    statuses = drops.skipped["error-status"]
    assert statuses.count == 8
    assert [each.detail for each in statuses.latest] == [f"status {400 + offset}" for offset in range(3, 8)]
    assert (str(statuses.latest[-1].source), statuses.latest[-1].url) == ("raw/3/7", URL)
    letters = drops.dead_letters
    assert {reason: each.count for reason, each in letters.items()} == {"unknown-format": 1}
    assert letters["unknown-format"].latest[0].url is None


def test_programs_are_told_what_a_warning_is_about(said: pytest.LogCaptureFixture) -> None:
    DropLog("k:1", "dead").note(skipped(SkipReason.ERROR_STATUS, 7))
    (record,) = said.records
    assert {name: getattr(record, name) for name in ABOUT} == {
        "topic": "raw",
        "partition": 3,
        "offset": 7,
        "url": URL,
        "reason": "error-status",
    }


def test_the_latest_documents_are_kept_without_their_content() -> None:
    drops = DropLog("k:1", "dead")
    for offset in range(40):
        url = b"https://example.org/" + b"x" * 1000
        made = [WrittenDocument(url, b"content", is_empty=True), Record(b"gone", None)]
        drops.note(CleanedMessage(Message(b"k", b"v", (), "raw", 3, offset), records=made))
    assert [each.source.offset for each in drops.documents] == list(range(10, 40))
    latest = drops.documents[-1]
    assert (len(latest.url), latest.is_empty, latest.model) == (300, True, None)
