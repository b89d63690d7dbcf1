"""`dehusk why` without a Kafka: what it prints of the outcomes that are found."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from dehusk.schemas.documents import Origin
from dehusk.streams.cli import cli
from dehusk.streams.topics.audit import AuditedBatch, AuditedPage, AuditEntry, AuditRecord, PageOutcome

WHY = ["why", "https://example.org/", "--audit-topic", "audit"]


@pytest.fixture(autouse=True)
def _topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the topic say of a page that it gave a document, and was then removed."""

    async def find_entries(*_: object) -> AsyncIterator[AuditEntry]:
        for second, outcome in enumerate((PageOutcome.DOCUMENT, PageOutcome.TOMBSTONE)):
            page = AuditedPage("https://example.org/", outcome)
            record = AuditRecord(Origin("raw", 0, second), 10, (page,), None, (), AuditedBatch(1))
            yield AuditEntry(datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC), record, page)

    monkeypatch.setattr("dehusk.streams.topics.audit.find_entries", find_entries)


def test_a_link_leads_to_the_worker_that_is_named() -> None:
    ended = CliRunner().invoke(cli, [*WHY, "--monitoring-url", "https://worker.test:8443"])
    (link,) = [line.strip() for line in ended.stdout.splitlines() if "inspect" in line]
    assert (link, ended.stderr) == ("inspect it: https://worker.test:8443/inspect/#raw/0/0", "")


def test_without_a_worker_there_is_no_link_and_one_line_says_how_to_get_one() -> None:
    ended = CliRunner().invoke(cli, WHY)
    assert "inspect" not in ended.stdout
    (line,) = ended.stderr.splitlines()
    assert line.startswith("dehusk: --monitoring-url ")


def test_lines_of_json_go_without_that() -> None:
    ended = CliRunner().invoke(cli, [*WHY, "--json"])
    assert (len(ended.stdout.splitlines()), ended.stderr) == (2, "")
