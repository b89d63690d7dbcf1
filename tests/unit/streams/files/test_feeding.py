import asyncio

import pytest

from dehusk.streams.files.feeding import RateLimiter


@pytest.fixture
def clock(monkeypatch):
    """Time that passes when somebody sleeps, and only then."""
    now = [1000.0]

    async def sleep(seconds):
        now[0] += max(seconds, 0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0])
    return now


@pytest.mark.parametrize(("rate", "seconds"), [(20.0, 5.0), (0.5, 200.0), (None, 0.0)])
async def test_lets_so_many_pages_pass_per_second(rate, seconds, request):
    clock = request.getfixturevalue("clock")
    limiter = RateLimiter(rate)
    for _ in range(101):
        await limiter.wait()
    assert clock[0] - 1000 == pytest.approx(seconds)


async def test_does_not_make_up_for_a_pause(request):
    clock = request.getfixturevalue("clock")
    limiter = RateLimiter(10)
    await limiter.wait()
    clock[0] += 60
    for _ in range(11):
        await limiter.wait()
    assert clock[0] - 1000 == pytest.approx(61)
