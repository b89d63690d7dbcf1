"""`warc-pointer`: Heritrix's crawl log on Kafka; a line says where in which WARC file a page lies."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import orjson

from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.fields import Fields, field, has_keys, message_object, number, text
from dehusk.streams.sources.page import html_page, page_url
from dehusk.streams.sources.source import Decoded, Record
from dehusk.streams.sources.warc import Outcome, open_warc, read_warc, write_warc

NO_DIRECTORY = "set the directory of the crawl's WARC files: --warc-directory"
NO_TYPE = "no-type"
"""Heritrix's word for a missing content type."""


class WarcPointer:
    """Lines of the crawl log; the record is read from the directory of the crawl's WARC files."""

    name = "warc-pointer"

    def __init__(self, max_bytes: int, directory: Path | None) -> None:
        self._max_bytes = max_bytes
        self._directory = directory
        self._written = f"dehusk-{datetime.now(UTC):%Y%m%d%H%M%S%f}-{os.getpid()}.warc.gz"

    def recognises(self, message: Message) -> bool:
        """Whether the value is an object that names a WARC file and an offset."""
        return has_keys(message.value or b"", "url", "warc_filename", "warc_offset")

    def decode(self, message: Message) -> Sequence[Decoded]:
        """The page of the record that the line points to."""
        try:
            line = message_object(message.value or b"", "warc_filename", "start_time_plus_duration")
        except PageError as error:
            return [Broken(error.reason, str(error))]
        url = page_url(field(line, "url"))
        if not isinstance(url, str):
            return [url]
        return [self._no_page(line, url) or self._find(line, url)]

    def encode(self, page: RawPage) -> Record:
        """Appends the page to a WARC file of its own in the directory, and points to it without a key.

        Raises ConfigurationError where no directory is set.
        """
        if self._directory is None:
            raise ConfigurationError(NO_DIRECTORY)
        with (self._directory / self._written).open("ab") as archive:
            offset = archive.tell()
            write_warc(page, archive)
        return Record(None, orjson.dumps(_line(page, self._written, offset)))

    def _no_page(self, line: Fields, url: str) -> Outcome | None:
        """What the line alone has against a page, so that no file need be opened: its status, its type."""
        kind = text(line, "mimetype")
        outcome = html_page(
            url=url,
            body=None,
            content_type=None if kind == NO_TYPE else kind,
            status=number(line, "status_code"),
            source=self.name,
            max_bytes=self._max_bytes,
        )
        lacks_body = isinstance(outcome, Skipped) and outcome.reason is SkipReason.NO_BODY
        return None if lacks_body and line.get("warc_filename") is not None else outcome

    def _find(self, line: Fields, url: str) -> Outcome:
        name, offset = text(line, "warc_filename") or "", number(line, "warc_offset")
        if Path(name).name != name or name in ("", ".."):
            return Broken(BrokenReason.MALFORMED_MESSAGE, f"warc_filename {name!r} is no file name", url)
        if offset is None or offset < 0:
            return Broken(BrokenReason.MALFORMED_MESSAGE, f"warc_offset is {offset}", url)
        if self._directory is None:
            return Broken(BrokenReason.RECORD_NOT_FOUND, NO_DIRECTORY, url)
        try:
            return self._read(self._directory / name, offset, url)
        except (OSError, ValueError) as error:
            return Broken(BrokenReason.RECORD_NOT_FOUND, f"cannot read {name!r} at {offset}: {error}", url)

    def _read(self, path: Path, offset: int, url: str) -> Outcome:
        """The record at the offset; Heritrix calls a file `….open` while it writes to it."""
        file = path if path.is_file() else path.with_name(f"{path.name}.open")
        if not file.is_file():
            return Broken(BrokenReason.RECORD_NOT_FOUND, f"--warc-directory has no file {path.name!r}", url)
        with file.open("rb") as archive:
            archive.seek(offset)
            outcome = next(read_warc(open_warc(archive), self._max_bytes, self.name), None)
        if outcome is None or outcome.url != url:
            detail = f"{file.name!r} does not hold it at {offset}, but {_shown(outcome)}"
            return Broken(BrokenReason.RECORD_NOT_FOUND, detail, url)
        return outcome


def _shown(outcome: Outcome | None) -> str:
    if isinstance(outcome, Broken):
        return outcome.detail
    return "its end" if outcome is None else f"{outcome.url}"


def _line(page: RawPage, name: str, offset: int) -> dict[str, object]:
    """The line as Heritrix writes it, null where it tells of its crawl."""
    fetched = page.fetched_at or datetime.now(UTC)
    crawl = ("hop_path", "via", "thread", "content_digest", "seed", "host", "annotations")
    return {
        "timestamp": f"{fetched.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z",
        "content_length": len(page.html),
        "size": len(page.html),
        "status_code": 200,
        "url": page.url,
        "mimetype": "text/html",
        "start_time_plus_duration": f"{fetched.astimezone(UTC):%Y%m%d%H%M%S%f}"[:-3] + "+0",
        "warc_filename": name,
        "warc_offset": offset,
        "extra_info": {},
        **dict.fromkeys(crawl),
    }
