"""Whether Kafka's brokers answer: a worker that has nothing to send would not notice that they are gone."""

import asyncio
from collections.abc import Callable

from aiokafka.client import AIOKafkaClient

from schemas.errors import UnavailableError

_TIMEOUT_SECONDS = 5.0


class Brokers:
    """The brokers behind a client, which are asked for the metadata of one topic."""

    def __init__(self, client: AIOKafkaClient, topic: str, sending_fails: Callable[[], bool]) -> None:
        self._client = client
        self._topic = topic
        self._sending_fails = sending_fails

    async def check(self) -> None:
        """See whether Kafka is there.

        Raises:
            UnavailableError: no broker answers, or sending to them fails.
        """
        if not await self.answer():
            raise UnavailableError("no broker answers")
        if self._sending_fails():
            raise UnavailableError("no broker takes what is sent")

    async def answer(self) -> bool:
        """Whether one of them answers now."""
        self._client.add_topic(self._topic)  # a client without topics asks for all that the cluster has
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return bool(await self._client.force_metadata_update())
        except TimeoutError:
            return False
