"""Claims on the versions of a model that are served: one command at a time has others served.

A claim is a lease. It is renewed while its command works, so that of a killed command ends soon. A command
that was stopped for longer than its claim held, and goes on, is refused before its next write, as others may
have had versions served meanwhile.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from dehusk.schemas.errors import ConfigurationError, ConflictError, DehuskError, UnavailableError
from dehusk.schemas.rollout import Change, Claim, Scope
from dehusk.streams.cancellation import cancel
from dehusk.streams.rollout.control import Control, ControlKey, check_revision, read_control, write
from dehusk.streams.settings import ControlTopic
from dehusk.streams.sources.source import Record

LEASE = timedelta(seconds=20)
"""Time for which a claim holds that is not renewed."""
RENEW_SECONDS = 5.0
_SKEW = timedelta(seconds=2)
"""Time before its end from which a claim is not relied on, as the clocks of others may be ahead."""
_log = logging.getLogger(__name__)


class HeldClaim:
    """A claim of this command, from its first record on."""

    def __init__(self, topic: ControlTopic, scope: Scope, change: Change) -> None:
        self.key = ControlKey(scope, claim=uuid4().hex)
        self.may_be_written = False
        """True once the topic may have a record of it."""
        self._topic = topic
        self._claim = Claim(change, datetime.now(UTC))

    def check(self) -> None:
        """Check that it holds; it does as long as nobody else sees it expired.

        Raises:
            ConflictError: it has expired.
        """
        if datetime.now(UTC) < self._claim.until - _SKEW:
            return
        raise ConflictError(
            f"this command was stopped, or did not reach Kafka, for too long: its claim on {self.key.scope} "
            f"has ended at {self._claim.until:%H:%M:%S} UTC, and it changes nothing more; look at it and try "
            "again"
        )

    async def write(self) -> Control:
        """Write the claim for another lease, and return the topic with it.

        Raises:
            ConflictError: the claim of another command holds, or this one has expired by now.
            ConfigurationError: the topic refuses the record.
            UnavailableError: the brokers do not answer.
        """
        claim = replace(self._claim, until=datetime.now(UTC) + LEASE)
        before, self.may_be_written = self.may_be_written, True
        try:
            await write(self._topic, [Record(self.key.encode(), claim.encode())])
        except ConfigurationError:  # the topic refuses it
            self.may_be_written = before
            raise
        control, now = await read_control(self._topic), datetime.now(UTC)
        holder = control.claim_on(self.key.scope.model, now)
        if holder is not None and holder != self.key:
            self._claim = replace(self._claim, until=now)
            raise _held_by(holder, control.claims[holder])
        if holder == self.key:
            self._claim = claim
        self.check()
        return control

    async def keep(self) -> None:
        """Renew it until cancelled, or until it has expired."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                self.check()
                await self.write()
            except ConflictError:
                return
            except DehuskError as error:
                _log.warning("the claim on %s is not renewed: %s", self.key.scope, error)


@asynccontextmanager
async def claimed(
    topic: ControlTopic, scope: Scope, revision: int, change: Change, seconds: float
) -> AsyncIterator[HeldClaim]:
    """Claim the versions of a model that are served, for a change of a state of that revision.

    Of several claims the first one in the topic holds, until it is taken away or has expired, as that of a
    command that was killed. Those of all groups count, as they share the repository. What is done meanwhile
    has to check the claim before each write.

    Raises:
        ConflictError: another claim holds, or the state is not of that revision any more.
        ConfigurationError: the topic refuses the record.
        UnavailableError: the brokers do not answer, or what is done meanwhile takes longer than the seconds,
            or ends with a `TimeoutError` of its own.
    """
    claim = HeldClaim(topic, scope, change)
    done = [claim.key]
    keeping: asyncio.Task[None] | None = None
    try:
        control = await claim.write()
        now = datetime.now(UTC)
        done += [other for other, each in control.claims.items() if each.until <= now]
        check_revision(control, scope, revision)
        keeping = asyncio.create_task(claim.keep())
        try:
            async with asyncio.timeout(seconds) as limit:
                yield claim
        except TimeoutError as error:
            if limit.expired():
                raise UnavailableError(f"{scope} was not changed within {seconds:g} s") from error
            raise UnavailableError(f"{scope}: {str(error) or 'no answer came in time'}") from error
    finally:
        if keeping is not None:
            await cancel([keeping])
        if claim.may_be_written:
            await _withdraw(topic, done)


def _held_by(holder: ControlKey, claim: Claim) -> ConflictError:
    return ConflictError(
        f"{claim.change.by} is changing {holder.scope} since {claim.change.at:%H:%M:%S} UTC "
        f"({claim.change.reason}), and nothing was changed; try again when that has ended or, if it was "
        f"killed, at {claim.until:%H:%M:%S} UTC"
    )


async def _withdraw(topic: ControlTopic, claims: list[ControlKey]) -> None:
    try:
        await write(topic, [Record(each.encode(), None) for each in claims])
    except DehuskError as error:
        _log.warning("a claim on %s stays until it expires: %s", claims[0].scope, error)
