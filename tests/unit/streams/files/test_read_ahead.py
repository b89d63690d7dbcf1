import asyncio
from threading import Event

import pytest

from dehusk.streams.files.read_ahead import ReadAhead


async def all_of(ahead):
    taken = []
    while batch := await ahead.take():
        taken += batch
    return taken


async def test_gives_everything_in_order():
    assert await all_of(ReadAhead(iter(range(1000)), 7)) == list(range(1000))
    assert await all_of(ReadAhead(iter(()), 7)) == []


async def test_raises_whatever_the_iterator_raised():
    class PanicError(BaseException): ...

    def items():
        yield 1
        raise PanicError

    ahead = ReadAhead(items(), 2)
    assert await ahead.take() == [1]
    with pytest.raises(PanicError):
        await asyncio.wait_for(ahead.take(), 10)


async def test_the_end_stays_the_end():
    ahead = ReadAhead(iter([1]), 2)
    assert await all_of(ahead) == [1]
    assert await ahead.take() == []


async def test_reads_no_further_ahead_than_it_may():
    read, taken = 0, 0

    def items():
        nonlocal read
        for number in range(100):
            read += 1
            assert read <= taken + 5 + 1, "one more is read, and waits to be handed over"
            yield number

    ahead = ReadAhead(items(), 5)
    while True:
        await asyncio.sleep(0.001)
        batch = await ahead.take()
        assert len(batch) <= 6
        taken += len(batch)
        if not batch:
            break
    assert taken == 100


async def test_gives_what_is_there_and_does_not_wait_for_more():
    more = Event()

    def items():
        yield 1
        more.wait()
        yield 2

    ahead = ReadAhead(items(), 5)
    assert await ahead.take() == [1]
    more.set()
    assert await ahead.take() == [2]


def test_an_event_loop_may_end_before_the_items_do():
    stop = Event()

    def items():
        yield 1
        stop.wait()
        yield 2

    async def take_one():
        return await ReadAhead(items(), 5).take()

    assert asyncio.run(take_one()) == [1]
    stop.set()  # the thread finds nobody to hand the second item to, and ends without a word
