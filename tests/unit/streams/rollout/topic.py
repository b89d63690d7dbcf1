"""A control topic in memory, whose writers take turns."""

from collections.abc import Coroutine, Generator, Sequence
from types import coroutine

import pytest

from dehusk.schemas.errors import ConflictError
from dehusk.schemas.pages import Message
from dehusk.streams.rollout import claims, control
from dehusk.streams.rollout.control import Control
from dehusk.streams.settings import ControlTopic, KafkaSettings
from dehusk.streams.sources.source import Record

TOPIC = ControlTopic(KafkaSettings(), "control")


class Topic:
    """Records of the topic, each read and each append of which is one turn of who does it."""

    def __init__(self, *held: Record) -> None:
        self.held = list(held)

    def replace_real(self, patch: pytest.MonkeyPatch) -> None:
        """Have it read and written in place of one on Kafka."""
        for module in (control, claims):
            patch.setattr(module, "read_control", self.read)
            patch.setattr(module, "write", self.write)
        patch.setattr(control, "send_together", self.append)

    async def read(self, _topic: ControlTopic) -> Control:
        await turn()
        return self.control()

    async def write(self, topic: ControlTopic, records: Sequence[Record]) -> None:
        for record in records:
            await self.append(topic.kafka, topic.name, [record])

    async def append(self, _kafka: KafkaSettings, _topic: str, records: Sequence[Record]) -> None:
        await turn()
        self.held += records

    def control(self) -> Control:
        """Return what the topic says."""
        found = Control()
        for each in self.held:
            found.apply(Message(each.key, each.value), 0)
        return found

    def compact(self, end: int) -> None:
        """Leave only the last record of each key among those before an offset, and no key that is gone."""
        last = {record.key: place for place, record in enumerate(self.held[:end])}
        kept = [self.held[place] for place in sorted(last.values())]
        self.held = [each for each in kept if each.value is not None] + self.held[end:]


@coroutine
def turn() -> Generator[None, None, None]:
    """Let others go first."""
    yield


class Writer:
    """Somebody who does one thing with the topic."""

    def __init__(self, doing: Coroutine[None, None, None]) -> None:
        self._doing = doing
        self.outcome: Exception | bool | None = None
        """None until it has ended; then True or its conflict; False if it was killed."""

    def step(self) -> None:
        """Let it go on until its next turn."""
        if self.outcome is not None:
            return
        try:
            self._doing.send(None)
        except StopIteration:
            self.outcome = True
        except ConflictError as error:
            self.outcome = error

    def finish(self) -> None:
        """Let it go on to its end."""
        while self.outcome is None:
            self.step()

    def kill(self) -> None:
        """Let it write nothing more."""
        self._doing.close()
        if self.outcome is None:
            self.outcome = False
