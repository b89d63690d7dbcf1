"""Membership in the group: how long it lasts, and what is sent without it."""

import asyncio
from types import SimpleNamespace

import pytest
from aiokafka.client import AIOKafkaClient, ConnectionGroup
from aiokafka.errors import KafkaError, NodeNotReadyError
from aiokafka.protocol.group import HeartbeatRequest, SyncGroupRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.produce import ProduceRequest

from dehusk.streams.worker.input.membership import Membership, NotAMemberError

SESSION = 6.0


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Coordinator:
    """Answers heartbeats with an error code, and takes a second of the clock for that."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.error_code = 0
        self.resets = 0

    async def _send_req(self, request: object) -> SimpleNamespace:
        self.clock.now += 1
        return SimpleNamespace(error_code=self.error_code)

    def reset_generation(self) -> None:
        self.resets += 1


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def membership(clock: Clock) -> Membership:
    return Membership(SESSION, clock)


@pytest.fixture
def coordinator(clock: Clock, membership: Membership) -> Coordinator:
    made = Coordinator(clock)
    membership.track(made)
    return made


def heartbeat() -> HeartbeatRequest:
    return HeartbeatRequest("g", 1, "m")


@pytest.mark.parametrize("request_of", [heartbeat, lambda: SyncGroupRequest("g", 1, "m", None, [])])
async def test_it_lasts_a_session_from_the_sending_of_a_confirmed_request(
    membership: Membership, coordinator: Coordinator, clock: Clock, request_of
) -> None:
    assert not membership.is_held
    await coordinator._send_req(request_of())
    clock.now += SESSION - 1.01
    assert membership.is_held
    clock.now += 0.01
    assert not membership.is_held


@pytest.mark.parametrize("error_code", [0, 16, 22, 25, 27])
async def test_only_a_member_is_confirmed(
    membership: Membership, coordinator: Coordinator, error_code: int
) -> None:
    coordinator.error_code = error_code
    await coordinator._send_req(heartbeat())
    assert membership.is_held is (error_code in {0, 27})


async def test_a_lost_membership_is_held_again_once_nothing_of_it_is_left(
    membership: Membership, coordinator: Coordinator
) -> None:
    await coordinator._send_req(heartbeat())
    coordinator.reset_generation()
    assert (coordinator.resets, membership.is_given_up, membership.is_held) == (1, True, False)
    await coordinator._send_req(heartbeat())
    assert not membership.is_held
    membership.mark_drained()
    assert membership.is_held


async def test_it_is_awaited_until_a_request_confirms_it(membership: Membership, clock: Clock) -> None:
    waiting = asyncio.create_task(membership.wait_until_held())
    await asyncio.sleep(0.1)
    assert not waiting.done()
    membership.confirm(clock.now)
    await waiting


async def test_a_producer_sends_no_records_without_it(membership: Membership, clock: Clock) -> None:
    sent = []

    async def send(node: int, request: object, *, group: int = 0) -> str:
        sent.append(type(request))
        return "answer"

    async def ready(node: int) -> bool:
        return True

    producer = SimpleNamespace(client=SimpleNamespace(send=send, ready=ready))
    membership.guard(producer)
    records = ProduceRequest(required_acks=-1, timeout=1, topics=[], transactional_id=None)
    with pytest.raises(NotAMemberError):
        await producer.client.send(1, records)
    assert await producer.client.send(1, MetadataRequest([]), group=1) == "answer"
    membership.confirm(clock.now)
    assert await producer.client.send(1, records) == "answer"
    assert sent == [MetadataRequest, ProduceRequest]


@pytest.mark.parametrize(
    ("seconds", "is_reached", "error"),
    [(SESSION - 1, True, None), (SESSION, True, NotAMemberError), (1, False, NodeNotReadyError)],
)
async def test_it_is_looked_at_once_the_broker_is_connected(
    membership: Membership, clock: Clock, seconds: float, is_reached, error: type[KafkaError] | None
) -> None:
    """The client is aiokafka's, which connects for so long, and sends at once then."""
    client = AIOKafkaClient(bootstrap_servers="127.0.0.1:1")
    sent = []

    async def answer() -> str:
        return "answer"

    async def connect(node: int, group: ConnectionGroup = ConnectionGroup.DEFAULT) -> bool:
        clock.now += 0 if sent else seconds
        sent.append((node, group))
        client._conns[node, group] = SimpleNamespace(send=lambda *_, **__: answer())
        return is_reached

    client.ready = connect
    membership.guard(SimpleNamespace(client=client))
    membership.confirm(clock.now)
    sending = client.send(1, ProduceRequest(required_acks=-1, timeout=1, topics=[], transactional_id=None))
    if error is None:
        assert await sending == "answer"
    else:
        with pytest.raises(error):
            await sending
        assert len(sent) == 1
