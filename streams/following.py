"""Following a topic of which every reader needs all that it holds, such as a compacted one."""

import asyncio
from collections.abc import Callable

from dehusk.schemas.pages import Message
from dehusk.streams.consuming import open_topics
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.worker.availability import UNAVAILABLE, Dependency
from dehusk.streams.worker.backoff import back_off

Handle = Callable[[Message, int], None]
"""Told of a message and its time, in milliseconds since 1970."""


class Following:
    """Hands on what a topic holds and what comes; all of it again, after Kafka was unavailable."""

    def __init__(self, kafka: KafkaSettings, topic: str, handle: Handle, consequence: str) -> None:
        self._kafka = kafka
        self._topic = topic
        self._handle = handle
        self.dependency = Dependency(f"topic {topic}", consequence)
        self.caught_up = asyncio.Event()
        """Set once all is handed on that the topic held when it was first read."""

    async def run(self) -> None:
        """Follow the topic, for as long as this runs."""
        trial = 0
        while True:
            try:
                async with open_topics(self._kafka, self._topic) as reader:
                    async for message, time in reader.held():
                        self._handle(message, time)
                        await asyncio.sleep(0)  # a topic may hold many, and others work meanwhile
                    trial = 0
                    self.dependency.answered()
                    self.caught_up.set()
                    async for message, time in reader.coming():
                        self._handle(message, time)
            except (*UNAVAILABLE, TimeoutError) as error:
                self.dependency.missed(error)
            await back_off(trial)
            trial += 1
