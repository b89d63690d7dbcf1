"""Reports of servers on themselves."""

from dataclasses import dataclass, field
from itertools import count

import pytest

from dehusk.inference.labelers.labeler import Activity
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.monitoring.state import RedisMetrics, TritonMetrics
from dehusk.streams.sites.redis_client import ServerUse
from dehusk.streams.worker.monitoring.servers import Servers


@dataclass
class Server:
    """A labeler on a server, or a store, that answers what the test says, or raises it."""

    answers: list[object] = field(default_factory=list)

    async def label(self, pages: object) -> list[object]:
        raise AssertionError(pages)

    async def close(self) -> None:
        """Nothing is open."""

    async def activity(self) -> object:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    use = activity


@pytest.fixture
def servers() -> Servers:
    """Asked every ten seconds."""
    return Servers(count(0, 10).__next__)


async def ask(servers: Servers, labeler: object, store: Server) -> tuple[object, object]:
    await servers.ask(labeler, store)  # type: ignore[arg-type]
    return servers.triton, servers.redis


async def test_figures_are_those_since_the_last_time(servers: Servers) -> None:
    labeler = Server([Activity(1000, 500, 7.0, 1), Activity(1200, 520, 7.5, 2), Activity(1200, 520, 7.5, 2)])
    store = Server([ServerUse(10, 0, 5, 5), ServerUse(20, 100, 8, 6), ServerUse(20, 100, 8, 6)])
    assert await ask(servers, labeler, store) == (None, RedisMetrics(10, None, None))
    triton, redis = await ask(servers, labeler, store)
    assert triton == TritonMetrics(20.0, 10.0, 0.0025, 2)
    assert redis == RedisMetrics(20, 100, 0.75)
    triton, redis = await ask(servers, labeler, store)
    assert triton == TritonMetrics(0.0, None, None, 2)
    assert redis == RedisMetrics(20, 100, None)


async def test_servers_that_were_restarted_begin_anew(servers: Servers) -> None:
    labeler = Server([Activity(1000, 500, 7.0, 1), Activity(5, 5, 0.1, 0), Activity(15, 6, 0.2, 0)])
    store = Server([ServerUse(10, 0, 5, 5), ServerUse(1, 0, 0, 1), ServerUse(1, 0, 1, 1)])
    await ask(servers, labeler, store)
    assert await ask(servers, labeler, store) == (None, RedisMetrics(1, None, None))
    triton, redis = await ask(servers, labeler, store)
    assert triton == TritonMetrics(1.0, 10.0, 0.01, 0)
    assert redis == RedisMetrics(1, None, 1.0)


async def test_a_version_that_is_unloaded_takes_its_totals_along(servers: Servers) -> None:
    labeler = Server([Activity(50, 40, 9.0, 0), Activity(250, 20, 7.0, 0), Activity(260, 30, 7.1, 0)])
    store = Server([ServerUse(1, 0, 0, 0)] * 3)
    await ask(servers, labeler, store)
    assert (await ask(servers, labeler, store))[0] is None
    assert (await ask(servers, labeler, store))[0] == TritonMetrics(1.0, 1.0, pytest.approx(0.01), 0)


@pytest.mark.parametrize("error", [UnavailableError("away"), ConfigurationError("refused")])
async def test_a_server_that_does_not_answer_has_no_figures(servers: Servers, error: Exception) -> None:
    labeler = Server([Activity(1, 1, 1.0, 0), error, Activity(2, 2, 2.0, 0)])
    store = Server([ServerUse(1, 0, 0, 0), error, ServerUse(1, 0, 9, 0)])
    await ask(servers, labeler, store)
    assert await ask(servers, labeler, store) == (None, None)
    assert await ask(servers, labeler, store) == (None, RedisMetrics(1, None, None))


async def test_a_labeler_without_a_server_has_none(servers: Servers) -> None:
    store = Server([ServerUse(1, 0, 0, 0)])
    assert await ask(servers, None, store) == (None, RedisMetrics(1, None, None))
