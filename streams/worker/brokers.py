"""Whether Kafka's brokers answer: a worker that has nothing to send would not notice that they are gone."""

import asyncio
from collections.abc import Callable

from aiokafka.client import AIOKafkaClient

from schemas.errors import UnavailableError
from streams.worker.availability import Part

_ASK_SECONDS = 5.0
_TIMEOUT_SECONDS = 5.0


class Brokers:
    """The brokers behind a client, which are asked for the metadata of one topic."""

    def __init__(
        self, client: AIOKafkaClient, topic: str, kafka: Part, sending_fails: Callable[[], bool]
    ) -> None:
        self._client = client
        self._topic = topic
        self._kafka = kafka
        self._sending_fails = sending_fails

    async def watch(self) -> None:
        """Note every few seconds whether they answer; Kafka is not back as long as sending to it fails."""
        while True:
            if not await self.answer():
                self._kafka.missed(UnavailableError("no broker answers"))
            elif not self._sending_fails():
                self._kafka.answered()
            await asyncio.sleep(_ASK_SECONDS)

    async def answer(self) -> bool:
        """Whether one of them answers now."""
        self._client.add_topic(self._topic)  # a client without topics asks for all that the cluster has
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return bool(await self._client.force_metadata_update())
        except TimeoutError:
            return False
