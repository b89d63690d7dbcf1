"""`warc-pointer`: messages that name the WARC file and the offset of a page."""

import os
from datetime import UTC, datetime
from pathlib import Path

import orjson

from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.folders import writing
from dehusk.streams.sources.fields import Fields, field, first, json_in, number, number_in, text
from dehusk.streams.sources.page import Answer, Outcome, page_url
from dehusk.streams.sources.source import JsonFormat, Record, fetch_time
from dehusk.streams.sources.warc import open_warc, read_warc, write_warc
from dehusk.streams.stores.errors import NotStoredError, is_below
from dehusk.streams.stores.roots import MESSAGE_SECONDS, Root
from dehusk.streams.stores.stored import InputPath

NO_DIRECTORY = "set the folder of the WARC files, or its URL in a store: --warc-directory"
NO_TYPE = "no-type"
"""Heritrix's word for a missing content type."""
OFFSET_COLUMNS = ("warc_offset", "warc_record_offset")
_STATUSES = ("status_code", "fetch_status")
_TYPES = ("mimetype", "content_mime_type")
"""Names of columns in Heritrix's crawl log, and in Common Crawl's index."""
POINTER_COLUMNS = ("url", "warc_filename", *OFFSET_COLUMNS, "warc_record_length", *_STATUSES, *_TYPES)
"""Columns of which those are read that there are."""


class WarcPointer(JsonFormat):
    """Objects that name the WARC file and the offset of a page, which is read there.

    They are lines of Heritrix's crawl log on Kafka, or rows of Common Crawl's index.
    """

    name = "warc-pointer"
    marks = ("url", "warc_filename")
    required = ("warc_filename", "start_time_plus_duration")

    def __init__(self, max_bytes: int, folder: InputPath | None, patience: float = MESSAGE_SECONDS) -> None:
        """Take the folder of the WARC files; `patience` is that of `Root.of`.

        Raises:
            ConfigurationError: the settings of the store do not fit.
        """
        super().__init__(max_bytes)
        self._root = None if folder is None else Root.of(folder, patience)
        self._written = f"dehusk-{datetime.now(UTC):%Y%m%d%H%M%S%f}-{os.getpid()}.warc.gz"

    def require_folder(self) -> None:
        """Check the folder of the WARC files, as `Root.require` does."""
        if self._root is not None:
            self._root.require()

    def recognises(self, message: Message) -> bool:
        """Return True if the value is an object with the columns of a pointer."""
        return super().recognises(message) and is_pointer(first(json_in(message.value or b"")))

    def encode(self, page: RawPage) -> Record:
        """Append the page to a WARC file of its own in the directory, and point to it without a key.

        Raises:
            ConfigurationError: no directory is set, or it lies in a store or cannot be written.
        """
        if self._root is None:
            raise ConfigurationError(NO_DIRECTORY)
        if not isinstance(self._root.place, Path):
            raise ConfigurationError(
                f"WARC files are written to a folder of this machine, not to {self._root}"
            )
        folder = self._root.place
        with writing(folder), (folder / self._written).open("ab") as archive:
            offset = archive.tell()
            write_warc(page, archive)
        return Record(None, orjson.dumps(_crawl_log_line(page, self._written, offset)))

    def follow(self, pointer: Fields) -> Outcome:
        """Return the page that an object points to.

        Raises:
            UnavailableError: the store of the WARC file does not answer.
        """
        try:
            return self._read_object(pointer)
        except PageError as error:
            return Broken(error.reason, str(error))

    def _read_object(self, fields: Fields) -> Outcome:
        url = page_url(field(fields, "url"))
        if not isinstance(url, str):
            return url
        return self._reject(fields, url) or self._follow(fields, url)

    def _reject(self, line: Fields, url: str) -> Outcome | None:
        """Return the outcome of a line whose status or type shows that it is no page; no file is opened."""
        kind, status = (_either(line, *names) for names in (_TYPES, _STATUSES))
        content_type = kind if isinstance(kind, str) and kind != NO_TYPE else None
        outcome = self._page(Answer(url, None, content_type, number_in(status)))
        lacks_body = isinstance(outcome, Skipped) and outcome.reason is SkipReason.NO_BODY
        return None if lacks_body and line.get("warc_filename") is not None else outcome

    def _follow(self, line: Fields, url: str) -> Outcome:
        name, offset = text(line, "warc_filename") or "", number_in(_either(line, *OFFSET_COLUMNS))
        length = number(line, "warc_record_length")
        if not is_below(name):
            return Broken(BrokenReason.MALFORMED_MESSAGE, f"warc_filename {name!r} is no file name", url)
        if offset is None or offset < 0:
            return Broken(BrokenReason.MALFORMED_MESSAGE, f"its offset in the WARC file is {offset}", url)
        if length is not None and length <= 0:
            return Broken(BrokenReason.MALFORMED_MESSAGE, f"warc_record_length is {length}", url)
        if self._root is None:
            return Broken(BrokenReason.RECORD_NOT_FOUND, NO_DIRECTORY, url)
        try:
            return self._read_record(self._root, name, offset, length, url)
        except (OSError, ValueError) as error:
            detail = f"cannot read {self._root.shown(name)!r} at {offset}: {error}"
            return Broken(BrokenReason.RECORD_NOT_FOUND, detail, url)

    def _read_record(self, root: Root, name: str, offset: int, length: int | None, url: str) -> Outcome:
        """Return the record at the offset; Heritrix calls a file `….open` while it writes to it."""
        try:
            archive = root.open(name, offset, length)
        except NotStoredError as missing:
            try:
                archive = root.open(f"{name}.open", offset, length)
            except NotStoredError:
                return Broken(BrokenReason.RECORD_NOT_FOUND, f"--warc-directory: {missing}", url)
        with archive:
            outcome = next(read_warc(open_warc(archive), self._max_bytes, self.name), None)
        if outcome is None or outcome.url != url:
            within = "" if length is None else f" within {length} bytes"
            detail = f"{root.shown(name)!r} does not hold it at {offset}{within}, but {_describe(outcome)}"
            return Broken(BrokenReason.RECORD_NOT_FOUND, detail, url)
        return outcome


def is_pointer(content: object) -> bool:
    """Return True for an object that names a WARC file and an offset in it."""
    return (
        isinstance(content, dict)
        and "warc_filename" in content
        and not content.keys().isdisjoint(OFFSET_COLUMNS)
    )


def _either(line: Fields, *names: str) -> object:
    """Return the first of some fields that is there."""
    return next((value for name in names if (value := field(line, name)) is not None), None)


def _describe(outcome: Outcome | None) -> str:
    if outcome is None:
        return "its end"
    return outcome.detail if isinstance(outcome, Broken) or outcome.url is None else outcome.url


def _crawl_log_line(page: RawPage, name: str, offset: int) -> dict[str, object]:
    """Return the line as Heritrix writes it, null where it tells of its crawl."""
    fetched = fetch_time(page)
    crawl = ("hop_path", "via", "thread", "content_digest", "seed", "host", "annotations")
    return {
        "timestamp": f"{fetched:%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z",
        "content_length": len(page.html),
        "size": len(page.html),
        "status_code": 200,
        "url": page.url,
        "mimetype": "text/html",
        "start_time_plus_duration": f"{fetched:%Y%m%d%H%M%S%f}"[:-3] + "+0",
        "warc_filename": name,
        "warc_offset": offset,
        "extra_info": {},
        **dict.fromkeys(crawl),
    }
