"""What the live page shows."""

import time
from dataclasses import replace

import orjson
from faust.types import TP

from dehusk.schemas.pages import Message, ModelVersion
from dehusk.streams.group.figures import PartitionLag, RedisFigures
from dehusk.streams.worker.assembly import CleanedMessage, Document
from dehusk.streams.worker.live.footprint import Footprint
from dehusk.streams.worker.live.history import Point
from dehusk.streams.worker.live.state import Watched

POINT = Point(1.0, 1.0, 2.0, None, None, 0, None, {})


def test_a_state_is_json(watched: Watched) -> None:
    state = orjson.loads(orjson.dumps(watched.state(POINT, None)))
    assert state["point"]["lag"] is None
    assert state["hindrances"] == ["waits for its partitions"]
    assert (state["model"], state["processes"], state["most_in_flight"]) == (None, None, 100)
    assert state["counts"]["totals"]["pages"] == 0
    assert [each["name"] for each in state["dependencies"]] == ["kafka", "redis", "triton"]


def test_it_names_the_model_that_labeled_the_last_document(watched: Watched) -> None:
    for version in ("7", "8"):
        document = Document(b"k", b"d", model=ModelVersion("dehusk", version))
        watched.metrics.count(CleanedMessage(Message(None, b""), [document]))
    watched.metrics.count(CleanedMessage(Message(None, b"")))
    assert watched.state(POINT, Footprint(5, 3)).model == "dehusk version 8"
    assert watched.state(POINT, Footprint(5, 3)).processes == 3


def test_it_says_since_when_a_dependency_is_unavailable(watched: Watched) -> None:
    redis = watched.dependencies.redis
    redis.missed(OSError("refused"))
    assert redis.unavailable_since is not None
    redis.unavailable_since -= 3600
    (state,) = [each for each in watched.state(POINT, None).dependencies if each.unavailable_since]
    assert (state.name, state.reason) == ("redis", "refused")
    assert state.unavailable_since is not None
    assert state.unavailable_since <= time.time() - 3599
    redis.answered()
    assert all(
        each.unavailable_since is None and not each.reason for each in watched.state(POINT, None).dependencies
    )


def test_of_many_partitions_those_farthest_behind_are_shown(watched: Watched) -> None:
    lags = {TP("raw", number): number for number in range(150)}
    state = replace(watched, partition_lags=lambda: lags).state(POINT, None)
    assert state.more_partitions == 50
    assert state.partitions[0] == PartitionLag("raw", 50, 50)
    assert state.partitions[-1] == PartitionLag("raw", 149, 149)
    assert len(state.partitions) == 100


def test_it_has_what_was_made_without_a_dependency_and_what_servers_say(watched: Watched) -> None:
    document = Document(b"k", b"d")
    watched.metrics.count(CleanedMessage(Message(None, b""), [document], degraded=("frequencies",)))
    watched.servers.redis = RedisFigures(100, None, 0.5)
    state = watched.state(POINT, None)
    assert state.counts.degraded == {"frequencies": 1}
    assert (state.redis, state.triton) == (RedisFigures(100, None, 0.5), None)
