"""Files of the documents of a topic, each document in one of them once, whatever ends a run.

Each file says up to which offset of each partition it and those before it hold the topic, so a later run goes
on there. Nothing is committed in Kafka, where it could disagree.
"""

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import orjson

from dehusk.schemas.documents import CleanedDocument, Origin, origin_of
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.dataset.folder import DocumentFolder, Position
from dehusk.streams.dataset.parts import Columns, Row
from dehusk.streams.kafka.reader import Timed
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.schema_registry import SchemaRegistry
from dehusk.streams.topics.documents import open_documents
from dehusk.streams.topics.value_formats import in_json

PLACE_COLUMNS: Columns = (
    ("record_topic", "string"),
    ("record_partition", "int64"),
    ("record_offset", "int64"),
)
"""Columns of the record that a document was read from."""
_OFFSETS = "offsets"
_TOPIC_ID = "topic_id"
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class TopicFiles:
    """Files of the documents of a topic."""

    kafka: KafkaSettings
    topic: str
    folder: DocumentFolder
    registry: SchemaRegistry | None
    """Registry of the schemas of documents in Avro, if there is one."""
    of_lines: bool
    """True for files of lines, which take documents as they are."""
    broken: int = 0
    """Records that are no documents, which have a row with an error."""
    is_incomplete: bool = False
    """True if Kafka has deleted records before they were read, or the registry does not know their schema."""
    _topic_id: str = ""
    """Id of the topic; empty where brokers have told none."""

    async def write(self, *, follow: bool) -> None:
        """Write the documents that are not in the folder yet; with `follow`, those that come, too, for ever.

        Raises:
            ConfigurationError: the topic does not exist, may not be read, or is not that of the folder; its
                documents need a registry, and there is none; or the file system refuses a file.
            UnavailableError: the brokers, or the registry of a document's schema, do not answer.
        """
        async with open_documents(self.kafka, self.topic, follow=follow) as reader:
            self._check_id(reader.id_of(self.topic))
            offsets = self._starts(await reader.bounds())
            reader.on_made_again = self._refuse
            reader.on_deleted = lambda partition, begin: self._skip(offsets, partition.partition, begin)
            reader.on_passed = lambda partition, offset: offsets.__setitem__(partition.partition, offset)
            self.folder.start(lambda: self._position(offsets))
            try:
                await self._take(reader.existing(starts=dict(offsets)), offsets)
                if follow:
                    await self._take(reader.follow(), offsets)
            finally:  # what was passed without a document is noted, too
                self.folder.end_run()

    def _check_id(self, told: UUID | None) -> None:
        """Note the id of the topic; where none is told, that of the folder stands.

        Raises:
            ConfigurationError: it is not that of the folder.
        """
        noted = (self.folder.end or {}).get(_TOPIC_ID, "")
        self._topic_id = noted if told is None else str(told)
        if noted and self._topic_id != noted:
            self._refuse(self.topic)

    def _starts(self, held: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        """Return the offset of each partition from which on it is not in the folder, given their bounds."""
        known = {int(partition): at for partition, at in (self.folder.end or {}).get(_OFFSETS, {}).items()}
        for partition, offset in known.items():
            if partition not in held or offset > held[partition][1]:
                raise ConfigurationError(
                    f"topic {self.topic} ends before offset {offset} of partition {partition}, up to which "
                    "it is in the folder: it was deleted and created again, so name an empty folder"
                )
        offsets = {partition: known.get(partition, begin) for partition, (begin, _) in held.items()}
        for partition, (begin, _) in held.items():
            self._skip(offsets, partition, begin)
        return offsets

    def _skip(self, offsets: dict[int, int], partition: int, begin: int) -> None:
        """Go on at the begin of a partition if it is behind the offset from which on it was to be read."""
        offset = offsets.get(partition, 0)
        if offset < begin:
            self.is_incomplete = True
            offsets[partition] = begin
            deleted = Origin(self.topic, partition, offset)
            _log.warning("Kafka has deleted records before they were read: %s up to %d", deleted, begin)

    def _refuse(self, topic: str) -> None:
        raise ConfigurationError(
            f"topic {topic} was deleted and created again since the folder was begun: name an empty folder"
        )

    def _position(self, offsets: Mapping[int, int]) -> Position:
        known = {_TOPIC_ID: self._topic_id} if self._topic_id else {}
        return {_OFFSETS: {str(partition): offset for partition, offset in offsets.items()}, **known}

    async def _take(self, messages: AsyncGenerator[Timed, None], offsets: dict[int, int]) -> None:
        async with aclosing(messages), aclosing(self.folder.in_time(messages)) as in_time:
            async for timed in in_time:
                self._write(timed[0], offsets)

    def _write(self, message: Message, offsets: dict[int, int]) -> None:
        move = partial(offsets.__setitem__, message.partition, message.offset + 1)
        if message.value is None:
            move()
            return
        row = self._row(message)
        self.folder.write(row, move)
        self.broken += row.error is not None

    def _row(self, message: Message) -> Row:
        place = (message.topic, message.partition, message.offset)
        url = message.key.decode("utf-8", "replace") if message.key else None
        try:
            value = in_json(message, self.registry).value or b""
            if self.of_lines:
                _expect_line(value)
                return Row(line=value + b"\n")
            document = CleanedDocument.from_json(value)
            return Row(document.id or document.url, document.url, document, place=place)
        except (ValueError, PageError) as error:
            broken = self._broken(message, error)
            line = orjson.dumps({"id": None, "url": url, "error": broken}, option=orjson.OPT_APPEND_NEWLINE)
            return Row(url=url, error=broken, place=place, line=line)

    def _broken(self, message: Message, error: ValueError | PageError) -> str:
        """Return the error of a record that is no document."""
        if not isinstance(error, PageError):
            detail = f"{origin_of(message)} is no document in JSON: {error}"
            return str(Broken(BrokenReason.MALFORMED_MESSAGE, detail))
        if error.reason is BrokenReason.UNKNOWN_SCHEMA:
            if self.registry is None:
                raise ConfigurationError(str(error)) from error
            self.is_incomplete = True
        return str(Broken(error.reason, str(error)))


def _expect_line(value: bytes) -> None:
    """Check that a value is an object of JSON on one line.

    Raises:
        ValueError: it is none.
    """
    if b"\n" in value or not isinstance(orjson.loads(value), dict):
        raise ValueError("it is no object on one line")
