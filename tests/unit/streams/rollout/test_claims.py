"""Claims on the versions that are served, by several commands at once."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.errors import ConfigurationError, ConflictError, UnavailableError
from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import Change, Claim, Scope
from dehusk.streams.rollout import claims
from dehusk.streams.rollout.claims import claimed
from dehusk.streams.rollout.control import Control, ControlKey, change_state, state_record
from dehusk.streams.rollout.transitions import first_state, promote
from dehusk.streams.sources.source import Record
from tests.unit.streams.rollout.topic import TOPIC, Topic, turn

SCOPE, OTHER_GROUP, OTHER_MODEL = Scope("m", "group"), Scope("m", "other"), Scope("other", "group")
START = promote(first_state("7", "me"), "7", "me")
NOW = datetime.now(UTC)
CHANGE = Change(NOW, "ada@host", "version 8 serves")


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    made = Topic(state_record(SCOPE, START))
    made.replace_real(monkeypatch)
    return made


def made(scope: Scope, until: datetime) -> Record:
    return Record(ControlKey(scope, claim="left").encode(), Claim(CHANGE, until).encode())


async def test_a_claim_is_taken_away_when_all_is_done(topic: Topic) -> None:
    async with claimed(TOPIC, SCOPE, 1, CHANGE, 60):
        assert [each.change for each in topic.control().claims.values()] == [CHANGE]
    assert topic.control().claims == {}


@pytest.mark.parametrize("scope", [SCOPE, OTHER_GROUP])
async def test_while_another_claim_on_the_model_holds_nothing_is_done(topic: Topic, scope: Scope) -> None:
    topic.held.append(made(scope, NOW + timedelta(hours=1)))
    with pytest.raises(ConflictError, match=f"ada@host is changing {scope} since .* nothing was changed"):
        async with claimed(TOPIC, SCOPE, 1, CHANGE, 60):
            raise AssertionError("it was not to begin")
    assert len(topic.control().claims) == 1


@pytest.mark.parametrize(
    ("scope", "until"), [(SCOPE, NOW - timedelta(hours=1)), (OTHER_MODEL, NOW + timedelta(hours=1))]
)
async def test_a_claim_that_has_expired_or_is_on_another_model_holds_nobody_up(
    topic: Topic, scope: Scope, until: datetime
) -> None:
    topic.held.append(made(scope, until))
    async with claimed(TOPIC, SCOPE, 1, CHANGE, 60):
        pass
    assert [key.scope for key in topic.control().claims] == ([OTHER_MODEL] if scope == OTHER_MODEL else [])


async def test_a_state_that_was_changed_before_the_claim_is_told(topic: Topic) -> None:
    await change_state(TOPIC, SCOPE, promote(START, "8", "bob"))
    with pytest.raises(ConflictError, match="changed meanwhile by bob"):
        async with claimed(TOPIC, SCOPE, 1, CHANGE, 60):
            raise AssertionError("it was not to begin")
    assert topic.control().claims == {}


async def test_a_claim_ends_what_lasts_longer_than_it_holds(topic: Topic) -> None:
    with pytest.raises(UnavailableError, match=r"not changed within 0\.01 s"):
        async with claimed(TOPIC, SCOPE, 1, CHANGE, 0.01):
            await asyncio.Event().wait()
    assert topic.control().claims == {}


@pytest.mark.parametrize(
    ("error", "says"),
    [(TimeoutError(110, "Connection timed out", "/srv"), "timed out: '/srv'"), (TimeoutError(), "in time")],
)
async def test_a_timeout_of_what_is_done_meanwhile_is_told_as_it_is(
    topic: Topic, error: TimeoutError, says: str
) -> None:
    with pytest.raises(UnavailableError, match=f"model m in group group: .*{says}"):
        async with claimed(TOPIC, SCOPE, 1, CHANGE, 60):
            raise error
    assert topic.control().claims == {}


async def test_a_claim_holds_as_long_as_it_is_renewed(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "RENEW_SECONDS", 0.0)
    async with claimed(TOPIC, SCOPE, 1, CHANGE, 60) as claim:
        (first,) = topic.control().claims.values()
        while (last := topic.control().claims[claim.key]).until <= first.until + timedelta(milliseconds=10):
            await turn()
        claim.check()
        assert last.change == CHANGE
    assert topic.control().claims == {}
    held = len(topic.held)
    for _ in range(10):
        await turn()
    assert len(topic.held) == held, "nothing is renewed after the end"


async def test_a_renewal_that_loses_its_cancellation_holds_no_command_up(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def lose_cancellation(*_: object) -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    monkeypatch.setattr(claims, "RENEW_SECONDS", 0.0)
    async with asyncio.timeout(30):
        async with claimed(TOPIC, SCOPE, 1, CHANGE, 60):
            monkeypatch.setattr(claims, "write", lose_cancellation)
            await begun.wait()
            monkeypatch.setattr(claims, "write", topic.write)
    assert topic.control().claims == {}


async def test_a_command_that_was_frozen_beyond_its_claim_is_refused_before_its_next_write(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with claimed(TOPIC, SCOPE, 1, CHANGE, 60) as claim:
        monkeypatch.setattr(claims, "_SKEW", claims.LEASE)
        with pytest.raises(ConflictError, match="it changes nothing more"):
            claim.check()
        with pytest.raises(ConflictError, match="it changes nothing more"):
            await change_state(TOPIC, SCOPE, promote(START, "8", "me"), guard=claim.check)
    assert topic.control().states[SCOPE] == START


async def test_a_claim_that_is_renewed_too_late_comes_after_those_made_until_then(topic: Topic) -> None:
    late, other = ControlKey(SCOPE, claim="late"), ControlKey(SCOPE, claim="other")
    control, begin = Control(), int(1000 * NOW.timestamp())

    def tell(key: ControlKey, seconds: float) -> ControlKey | None:
        value = Claim(CHANGE, NOW + timedelta(seconds=seconds + 20)).encode()
        control.apply(Message(key.encode(), value), begin + int(1000 * seconds))
        return control.claim_on("m", NOW + timedelta(seconds=seconds))

    assert [tell(late, 0), tell(other, 5), tell(late, 5)] == [late] * 3
    assert tell(other, 10) == late, "it was renewed in time"
    assert tell(other, 26) == other
    assert tell(late, 26) == other


async def test_who_finds_the_claim_of_another_command_at_a_renewal_is_refused(topic: Topic) -> None:
    async with claimed(TOPIC, SCOPE, 1, CHANGE, 60) as claim:
        topic.held.insert(1, claim_of_other := made(SCOPE, NOW + timedelta(hours=1)))
        with pytest.raises(ConflictError, match="ada@host is changing"):
            await claim.write()
        with pytest.raises(ConflictError, match="it changes nothing more"):
            claim.check()
        topic.held.remove(claim_of_other)


async def test_a_claim_that_cannot_be_renewed_is_logged_and_tried_again(
    topic: Topic, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(claims, "RENEW_SECONDS", 0.0)

    async def refuse(*_: object) -> None:
        raise UnavailableError("away")

    async with claimed(TOPIC, SCOPE, 1, CHANGE, 60) as claim:
        before = topic.control().claims[claim.key]
        with monkeypatch.context() as patch:
            patch.setattr(claims, "write", refuse)
            while "is not renewed: away" not in caplog.text:
                await turn()
        while topic.control().claims[claim.key] == before:
            await turn()
        claim.check()


async def test_a_claim_that_cannot_be_taken_away_hides_no_other_error(
    topic: Topic, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(*_: object) -> None:
        raise UnavailableError("away")

    async def fail() -> None:
        async with claimed(TOPIC, SCOPE, 1, CHANGE, 60):
            monkeypatch.setattr(claims, "write", refuse)
            raise ConfigurationError("broken")

    with pytest.raises(ConfigurationError, match="broken"):
        await fail()
    assert "stays until it expires: away" in caplog.text
    assert len(topic.control().claims) == 1


@pytest.mark.parametrize(
    ("error", "stays"), [(ConfigurationError("no right"), False), (UnavailableError("away"), True)]
)
async def test_a_claim_that_the_topic_refuses_is_not_said_to_stay(
    topic: Topic,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    stays,
) -> None:
    async def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(claims, "write", refuse)
    with pytest.raises(type(error)):
        async with claimed(TOPIC, SCOPE, 1, CHANGE, 60):
            raise AssertionError("it was not to begin")
    assert ("stays until it expires" in caplog.text) == stays
    assert topic.control().claims == {}


@given(pauses=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), min_size=2, max_size=5))
def test_of_several_commands_at_once_one_at_a_time_goes_on(pauses: list[tuple[int, int]]) -> None:
    topic, holders = Topic(state_record(SCOPE, START)), []

    async def run(pause: int, work: int) -> str:
        for _ in range(pause):
            await turn()
        try:
            async with claimed(TOPIC, SCOPE, 1, CHANGE, 60):
                holders.append(pause)
                for _ in range(work):
                    await turn()
                    assert len(holders) == 1
                holders.remove(pause)
        except ConflictError:
            return "refused"
        return "done"

    async def run_all() -> list[str]:
        return await asyncio.gather(*(run(*each) for each in pauses))

    with pytest.MonkeyPatch.context() as patch:
        topic.replace_real(patch)
        outcomes = asyncio.run(run_all())
    assert "done" in outcomes
    assert topic.control().claims == {}
