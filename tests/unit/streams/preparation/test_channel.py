"""Frames of a channel arrive as they were sent, of any size; large bytes are not copied on the way."""

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import Pipe
from typing import Any

import numpy as np
import pytest

from dehusk.schemas.pages import Message
from dehusk.schemas.pickled import BESIDE_BYTES, PickledWithBytes
from dehusk.streams.preparation.channel import Channel, size_of, to_parts

SMALL, LARGE = b"<p>" * 10, bytes(range(256)) * (BESIDE_BYTES // 256)
HUGE = LARGE * 50
"""More than the kernel keeps of a frame that nobody reads yet."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns(PickledWithBytes):
    """Numbers beside bytes."""

    numbers: Any
    packed: bytes


def exchange(value: object, number: float = 0.0, *, flag: bool = False) -> tuple[float, bool, Any, int]:
    """Send a value through a channel; return what arrives."""
    ours, theirs = Pipe()
    with ours, theirs, ThreadPoolExecutor(1) as sender:
        sending, receiving = Channel(ours), Channel(theirs)
        sent = sender.submit(sending.send, number, to_parts(value), flag=flag)
        head = receiving.receive_head()
        received, size = receiving.receive_value(head)
        sent.result()
        sending.close()
        receiving.close()
    return head.number, head.flag, received, size


@pytest.mark.parametrize("value", [None, b"", SMALL, LARGE, HUGE])
def test_a_message_arrives_as_it_was_sent(value: bytes | None) -> None:
    message = Message(b"https://a.example/", value, (("status", b"200"), ("empty", None)), "raw", 3, 7)
    assert exchange([message, message])[2] == [message, message]
    assert type(exchange(message)[2].value) is type(value)


def test_a_frame_has_more_large_parts_than_one_call_takes() -> None:
    messages = [Message(None, LARGE + bytes([number % 256])) for number in range(300)]
    assert exchange(messages)[2] == messages


def test_numbers_of_any_size_can_be_written_on_arrival() -> None:
    for columns in (10, BESIDE_BYTES):
        received = exchange(Columns(np.arange(columns), LARGE))[2]
        received.numbers[0] = 1
        assert received.numbers[-1] == columns - 1
        assert received.packed == LARGE


def test_number_and_flag_arrive() -> None:
    assert exchange(None, float("inf"), flag=True)[:2] == (float("inf"), True)
    assert exchange(None, 17.0)[:2] == (17.0, False)


def test_large_bytes_stay_where_they_are() -> None:
    message = Message(None, LARGE)
    pickled, beside = to_parts(message)
    assert beside.obj is message.value
    assert pickled.nbytes < BESIDE_BYTES
    assert len(to_parts(Message(None, SMALL))) == 1


def test_the_size_of_a_value_counts_all_its_bytes() -> None:
    parts = to_parts(Message(SMALL, LARGE))
    assert size_of(parts) == exchange(Message(SMALL, LARGE))[3] > len(LARGE) + len(SMALL)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_without_a_channel_large_bytes_are_in_the_pickle(protocol: int) -> None:
    message = Message(SMALL, LARGE)
    assert pickle.loads(pickle.dumps(message, protocol)) == message
    assert type(pickle.loads(pickle.dumps(message, protocol)).value) is bytes
    assert copy.copy(message) == copy.deepcopy(message) == message


def _head(channel: Channel) -> None:
    channel.receive_head()


def _value(channel: Channel) -> None:
    channel.receive_value(channel.receive_head())


@pytest.mark.parametrize(("sent", "receive"), [(0, _head), (5, _head), (21, _value), (2_000, _value)])
def test_a_frame_that_ends_early_is_an_end(sent: int, receive: Callable[[Channel], None]) -> None:
    recorded, frame = Pipe()
    with recorded, frame:
        channel = Channel(recorded)
        channel.send(1.0, to_parts(list(range(1_000))), flag=True)
        channel.close()
        recorded.close()
        other = Channel(frame)
        begun = other._read(sent)
        other.close()
    ours, theirs = Pipe()
    with ours, theirs:
        cut = Channel(ours)
        cut._socket.sendall(begun)
        cut.close()
        ours.close()
        receiving = Channel(theirs)
        with pytest.raises(EOFError):
            receive(receiving)
        receiving.close()


def test_nobody_receives_on_a_closed_channel() -> None:
    ours, theirs = Pipe()
    with ours:
        theirs.close()
        channel = Channel(ours)
        with pytest.raises(OSError, match="Broken pipe"):
            channel.send(0.0, to_parts(HUGE), flag=False)
        channel.close()
