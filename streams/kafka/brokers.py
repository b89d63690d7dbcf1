"""Checks that the brokers of a cluster answer, and take what is sent."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from aiokafka.client import AIOKafkaClient

from dehusk.schemas.errors import DehuskError, UnavailableError
from dehusk.streams.kafka.client import open_client
from dehusk.streams.settings import KafkaSettings

_CONNECT_SECONDS = 2.0
"""Time limit of a connection that is to tell why there is no answer."""


class Brokers:
    """The brokers of a client, which are asked for the metadata of some topics.

    A client that has nothing to send would not notice that they are gone.
    """

    def __init__(self, client: AIOKafkaClient, *topics: str, timeout: float = 5.0) -> None:
        self._client = client
        self._topics = topics
        self._timeout = timeout
        self._throttled_until = 0.0
        """Monotonic time until which a broker reads no request, by a quota."""
        self._note_quotas(client)

    async def check(self) -> None:
        """Ask for an answer of one of them.

        Raises:
            UnavailableError: none answers in time, or not before the end of a delay by a quota.
        """
        begun = time.monotonic()
        if await self.answer():
            return
        if self._throttled_until > begun:
            raise UnavailableError("it delays what is sent, as a quota of this user or client is exceeded")
        raise UnavailableError("no broker answers")

    async def answer(self) -> bool:
        """Return True if one of them answers in time."""
        for topic in self._topics:
            self._client.add_topic(topic)  # a client without topics asks for all that the cluster has
        try:
            async with asyncio.timeout(self._timeout):
                return bool(await self._client.force_metadata_update())
        except TimeoutError:
            return False

    def _note_quotas(self, client: Any) -> None:  # noqa: ANN401 aiokafka has no types
        """Patch a client to note for how long brokers read no further request, as their answers say."""
        send = client.send  # there is no hook

        async def send_noted(*args: object, **options: object) -> object:
            response = await send(*args, **options)
            if delay := getattr(response, "throttle_time_ms", 0):
                self._throttled_until = max(self._throttled_until, time.monotonic() + delay / 1000)
            return response

        client.send = send_noted

    @property
    def have_all_topics(self) -> bool:
        """True if each of the topics existed when the brokers answered last."""
        return all(self._client.cluster.partitions_for_topic(topic) for topic in self._topics)


async def check_kafka(
    brokers: Brokers,
    connect: Callable[[], Awaitable[None]],
    check_rights: Callable[[], Awaitable[None]],
    check_topics: Callable[[], Awaitable[object]],
    failure: Callable[[], DehuskError | None],
) -> None:
    """Check that Kafka answers and takes what is sent.

    Args:
        brokers: the brokers of the cluster.
        connect: raises why they refuse a new connection, e.g. as a password has changed.
        check_rights: raises which rights are missing.
        check_topics: raises what is to be done about topics that do not exist.
        failure: returns the error of what is being sent, if it is not taken.

    Raises:
        UnavailableError: no broker answers, or sending to them fails.
        ConfigurationError: the brokers refuse the user, a right is missing, or a topic does not exist, or is
            set so that nothing can be sent to it.
    """
    try:
        await brokers.check()
    except UnavailableError:
        with suppress(UnavailableError, TimeoutError):
            async with asyncio.timeout(_CONNECT_SECONDS):
                await connect()
        raise
    await check_rights()
    if not brokers.have_all_topics:
        await check_topics()
    if error := failure():
        raise error.with_traceback(None)


async def check_login(settings: KafkaSettings) -> None:
    """Connect anew; raise what `open_client` raises."""
    async with open_client(settings):
        pass
