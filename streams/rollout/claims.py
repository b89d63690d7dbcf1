"""Claims on the versions of a model that are served: one command at a time has others served."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from dehusk.schemas.errors import ConflictError, DehuskError, UnavailableError
from dehusk.schemas.rollout import Change, Claim, Scope
from dehusk.streams.rollout.control import (
    Control,
    ControlKey,
    ControlTopic,
    check_revision,
    read_control,
    write,
)
from dehusk.streams.sources.source import Record

_log = logging.getLogger(__name__)


@asynccontextmanager
async def claimed(
    topic: ControlTopic, scope: Scope, revision: int, change: Change, seconds: float
) -> AsyncIterator[None]:
    """Claim the versions of a model that are served, for a change of a state of that revision.

    Of several claims the first one in the topic holds, until it is taken away or has expired, as that of a
    command that was killed. Those of all groups count, as they share the repository.

    Raises:
        ConflictError: another claim holds, or the state is not of that revision any more.
        ConfigurationError: the topic refuses the record.
        UnavailableError: the brokers do not answer, or what is done meanwhile takes longer than the seconds.
    """
    key = ControlKey(scope, claim=uuid4().hex)
    began = datetime.now(UTC)
    claim = Claim(change, began + timedelta(seconds=seconds))
    await write(topic, [Record(key.encode(), claim.encode())])
    done = [key]
    try:
        control = await read_control(topic)
        done += [other for other, each in control.claims.items() if each.until <= began]
        _check_holds(control, key, began)
        check_revision(control, scope, revision)
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            raise UnavailableError(f"{scope} was not changed within {seconds:g} s") from error
    finally:
        await _withdraw(topic, done)


def _check_holds(control: Control, key: ControlKey, now: datetime) -> None:
    holder = control.claim_on(key.scope.model, now)
    if holder is None or holder == key:
        return
    claim = control.claims[holder]
    raise ConflictError(
        f"{claim.change.by} is changing {holder.scope} since {claim.change.at:%H:%M:%S} UTC "
        f"({claim.change.reason}), and nothing was changed; try again when that has ended, at "
        f"{claim.until:%H:%M:%S} UTC at the latest"
    )


async def _withdraw(topic: ControlTopic, claims: list[ControlKey]) -> None:
    try:
        await write(topic, [Record(each.encode(), None) for each in claims])
    except DehuskError as error:
        _log.warning("a claim on %s stays until it expires: %s", claims[0].scope, error)
