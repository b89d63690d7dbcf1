"""Whether Kafka's brokers answer: a worker that has nothing to send would not notice that they are gone."""

import asyncio
from collections.abc import Awaitable, Callable

from aiokafka.client import AIOKafkaClient

from dehusk.schemas.errors import DehuskError, UnavailableError

_TIMEOUT_SECONDS = 5.0


class Brokers:
    """The brokers behind a client, which are asked for the metadata of some topics."""

    def __init__(self, client: AIOKafkaClient, *topics: str) -> None:
        self._client = client
        self._topics = topics

    async def check(self) -> None:
        """See whether one of them answers.

        Raises:
            UnavailableError: none does.
        """
        if not await self.answer():
            raise UnavailableError("no broker answers")

    async def answer(self) -> bool:
        """Whether one of them answers now."""
        for topic in self._topics:
            self._client.add_topic(topic)  # a client without topics asks for all that the cluster has
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return bool(await self._client.force_metadata_update())
        except TimeoutError:
            return False

    @property
    def have_all_topics(self) -> bool:
        """Whether each of the topics existed when the brokers answered last."""
        return all(self._client.cluster.partitions_for_topic(topic) for topic in self._topics)


async def check_kafka(
    brokers: Brokers,
    check_topics: Callable[[], Awaitable[object]],
    failure: Callable[[], DehuskError | None],
) -> None:
    """See whether Kafka is there.

    Args:
        brokers: those of the cluster.
        check_topics: raises what is to be done about topics that do not exist.
        failure: why what is being sent is not taken, if it is not.

    Raises:
        UnavailableError: no broker answers, or sending to them fails.
        ConfigurationError: a topic does not exist, or is set so that nothing can be sent to it.
    """
    await brokers.check()
    if not brokers.have_all_topics:
        await check_topics()
    if error := failure():
        raise error.with_traceback(None)
