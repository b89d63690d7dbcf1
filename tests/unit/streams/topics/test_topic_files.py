"""Files of a topic's documents: whether a topic is that of the folder."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Message
from dehusk.streams.dataset.folder import FolderSettings, open_folder
from dehusk.streams.kafka.reader import Timed
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.topics import files as files_module
from dehusk.streams.topics.files import PLACE_COLUMNS, TopicFiles


async def write(monkeypatch: pytest.MonkeyPatch, path: Path, told: UUID | None, number: int) -> None:
    """Write a document of a topic whose brokers tell an id, or none, to a folder."""

    async def existing(*, starts: dict[int, int]) -> AsyncGenerator[Timed, None]:
        assert starts == {0: number}
        value = b'{"id": "%d"}' % number
        yield Message(topic="out", partition=0, offset=number, key=None, value=value), 0

    async def bounds() -> dict[int, tuple[int, int]]:
        return {0: (0, number + 1)}

    @asynccontextmanager
    async def opened(*_: object, **__: object) -> AsyncIterator[SimpleNamespace]:
        yield SimpleNamespace(id_of=lambda _: told, bounds=bounds, existing=existing)

    monkeypatch.setattr(files_module, "open_documents", opened)
    with open_folder(
        FolderSettings(path, "jsonl.zst", resume=True), PLACE_COLUMNS, {"command": "read"}
    ) as folder:
        await TopicFiles(KafkaSettings(), "out", folder, None, of_lines=True).write(follow=False)


async def test_a_topic_is_told_from_that_of_the_folder_though_a_broker_tells_no_id_meanwhile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ids = (None, UUID(int=1), None, UUID(int=1), None)
    for number, told in enumerate(ids):
        await write(monkeypatch, tmp_path, told, number)
    with pytest.raises(ConfigurationError, match="topic out was deleted and created again since"):
        await write(monkeypatch, tmp_path, UUID(int=2), len(ids))
