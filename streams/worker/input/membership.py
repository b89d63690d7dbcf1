"""Membership of this worker in its consumer group, as far as Kafka's answers confirm it.

Kafka gives the partitions of a member away once it has heard nothing of it for a session. A worker that was
frozen, or cut off, cannot know that: it goes on with what it had in flight, and would replace newer documents
of the others by older ones. So membership lasts for a session from the sending of the last confirmed request,
by a clock that goes on while the machine is suspended, where it has one.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, NodeNotReadyError, NoError, RebalanceInProgressError
from aiokafka.protocol.group import HeartbeatRequest, SyncGroupRequest
from aiokafka.protocol.produce import ProduceRequest

_CONFIRMED = frozenset({NoError.errno, RebalanceInProgressError.errno})
"""Answers to a heartbeat by which Kafka still knows the member; it keeps its partitions until it rejoins."""
_POLL_SECONDS = 0.02
_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class NotAMemberError(KafkaError):  # type: ignore[misc]  # aiokafka has no types
    """The worker's membership is not confirmed, so nothing may be sent."""


def boot_time() -> float:
    """Return the seconds since the machine started, with those of its suspensions where it counts them."""
    return time.clock_gettime(_CLOCK)


class Membership:
    """Membership of a worker, noted by the consumer's thread and read by the event loop."""

    def __init__(self, session_seconds: float, clock: Callable[[], float] = boot_time) -> None:
        self._session_seconds = session_seconds
        self._clock = clock
        self._confirmed = -math.inf
        """Time at which the last confirmed request was sent."""
        self.is_given_up = False
        """True until `mark_drained` if what is in flight must not be sent any more."""

    @property
    def is_held(self) -> bool:
        """True while Kafka cannot have given the partitions of what is in flight to another worker."""
        return not self.is_given_up and self._clock() < self._confirmed + self._session_seconds

    async def wait_until_held(self) -> None:
        """Wait until the membership is confirmed."""
        while not self.is_held:  # noqa: ASYNC110 another thread confirms it
            await asyncio.sleep(_POLL_SECONDS)

    async def wait_until_given_up(self) -> None:
        """Wait until what is in flight is given up."""
        while not self.is_given_up:  # noqa: ASYNC110 another thread may give it up
            await asyncio.sleep(_POLL_SECONDS)

    def confirm(self, sent: float) -> None:
        """Note that Kafka confirmed a request that was sent at a time of the clock."""
        self._confirmed = sent

    def lose(self) -> None:
        """Note that Kafka no longer knows the member."""
        self._confirmed = -math.inf
        self.give_up()

    def give_up(self) -> None:
        """Note that what is in flight is given up, as its partitions are those of others now."""
        self.is_given_up = True

    def mark_drained(self) -> None:
        """Note that nothing is in flight any more of what was given up."""
        self.is_given_up = False

    def track(self, coordinator: Any) -> None:  # noqa: ANN401 aiokafka has no types
        """Patch aiokafka's coordinator to record the requests that Kafka confirms."""
        send, reset = coordinator._send_req, coordinator.reset_generation  # noqa: SLF001 there are no hooks

        async def send_noted(request: object) -> Any:  # noqa: ANN401 aiokafka has no types
            sent = self._clock()
            response = await send(request)
            if isinstance(request, HeartbeatRequest | SyncGroupRequest) and response.error_code in _CONFIRMED:
                self.confirm(sent)
            return response

        def reset_noted() -> None:
            self.lose()
            reset()

        coordinator._send_req, coordinator.reset_generation = send_noted, reset_noted  # noqa: SLF001

    def guard(self, producer: AIOKafkaProducer) -> None:
        """Let a producer send records only while the membership is held.

        Records that it has kept in the meantime fail with `NotAMemberError`. Connecting may take long, so it
        comes before the check, after which a request is handed to the network at once.
        """
        client: Any = producer.client
        send: Callable[..., Awaitable[object]] = client.send

        async def send_guarded(node: int, request: object, **options: object) -> object:
            if isinstance(request, ProduceRequest):
                if not await client.ready(node, **options):
                    raise NodeNotReadyError(f"node {node} cannot be reached")
                if not self.is_held:
                    raise NotAMemberError("the worker's membership in its group is not confirmed")
            return await send(node, request, **options)

        client.send = send_guarded


def rejoin_after_error(coordinator: Any) -> None:  # noqa: ANN401 aiokafka has no types
    """Have aiokafka's coordinator join its group again after an error, which it keeps until it is taken.

    By itself it would send no heartbeat any more after one that was refused.

    Raises:
        KafkaError: the error.
    """
    try:
        coordinator.check_errors()
    except KafkaError:
        if not coordinator._coordination_task.done():  # noqa: SLF001 else it never joins again
            coordinator.request_rejoin()
        raise
