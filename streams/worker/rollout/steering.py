"""Following the state of a roll-out: what it names is opened and then labels, what fails is taken back."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from dehusk.schemas.errors import ConfigurationError, ConflictError, UnavailableError
from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import Rollout, Scope
from dehusk.streams.following import Following
from dehusk.streams.rollout.control import Control
from dehusk.streams.rollout.keys import ControlKey
from dehusk.streams.rollout.steps import without
from dehusk.streams.rollout.verdict import RollbackReason, Verdict, judge, judge_shadow
from dehusk.streams.rollout.words import said
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.worker.availability import UNAVAILABLE
from dehusk.streams.worker.metrics import Metrics
from dehusk.streams.worker.rollout.plan import Plan, Plans
from dehusk.streams.worker.rollout.seen import Seen
from dehusk.streams.worker.rollout.versions import OpenVersion, name_of

_log = logging.getLogger(__name__)
_JUDGE_SECONDS = 1.0
_AGAIN_SECONDS = 15.0
"""After which versions are tried again that were refused, or did not answer."""
Open = Callable[[str], Awaitable[OpenVersion]]
Change = Callable[[Scope, Rollout], Awaitable[None]]
"""Makes a state the current one, as `streams.rollout.writing.change_state` does."""


class StateReader:
    """The state of one roll-out, as the control topic has it."""

    def __init__(self, kafka: KafkaSettings, topic: str, scope: Scope) -> None:
        self._control = Control()
        self._scope = scope
        self.changed = asyncio.Event()
        self.following = Following(kafka, topic, self._take, "pages are labeled by the versions known so far")

    @property
    def state(self) -> Rollout | None:
        """The current state; None where there is no roll-out."""
        return self._control.states.get(self._scope)

    def stale(self, since: int) -> list[ControlKey]:
        """The reports of workers of the group that have said nothing since a time, in ms since 1970."""
        reports = self._control.reports.items()
        return [key for key, (_, time) in reports if key.scope == self._scope and time < since]

    def _take(self, message: Message, time: int) -> None:
        if self._control.take(message, time) == self._scope:
            self.changed.set()


class Steering:
    """Has batches labeled by the versions of the current state, and takes those back that are not fit."""

    def __init__(
        self,
        reader: StateReader,
        scope: Scope,
        plans: Plans,
        open_one: Open,
        change: Change,
        *,
        worker: str,
        seen: Seen,
        metrics: Metrics,
    ) -> None:
        self._reader = reader
        self._scope = scope
        self._plans = plans
        self._open = open_one
        self._change = change
        self._worker = worker
        self._seen = seen
        self._metrics = metrics
        self.revision = 0
        """Of the state that is followed, as far as its versions are fit."""
        self.refused: dict[str, str] = {}
        """The versions of that state that do not label, each with the reason."""
        self._is_to_repeat = False
        self.adopted = asyncio.Event()
        """Set when a state was followed, as far as it can be."""

    async def run(self) -> None:
        """Follow the state and judge what is tried, for as long as this runs."""
        loop = asyncio.get_running_loop()
        again = loop.time()
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._reader.changed.wait(), _JUDGE_SECONDS)
            if self._reader.changed.is_set() or (self._is_to_repeat and loop.time() > again):
                self._reader.changed.clear()
                await self.adopt(self._reader.state)
                again = loop.time() + _AGAIN_SECONDS
            await self._judge()

    async def adopt(self, state: Rollout | None) -> None:
        """Label with the versions of a state, as far as they are fit; the batches that have begun go on."""
        if state is not None and state == self._plans.current.state and not self._is_to_repeat:
            return
        before, self.refused, self._is_to_repeat = self._plans.current, {}, False
        plan = await self._plan(before, state)
        if self.refused or not self._is_to_repeat:
            self.revision = state.revision if state else 0
        if plan is not None and plan != before:
            self._begin_anew(before, plan)
            await self._plans.replace(plan)
            _log.info("labels by %s", _said(plan))
        self.adopted.set()
        self._metrics.rollout_revision.set(self.revision)
        self._metrics.refused_versions.set(len(self.refused))
        if state is not None:
            for version, reason in self.refused.items():
                await self._take_back(state, version, Verdict(RollbackReason.REFUSED, reason))

    async def _plan(self, before: Plan, state: Rollout | None) -> Plan | None:
        """The plan of a state; None where the version that it has serve does not label."""
        opened = {each.version: each for each in before.opened()}
        serving = await self._opened(opened, state.serving if state else "")
        if serving is None:
            return None
        if state is None:
            return Plan(serving)
        return Plan(
            serving,
            state,
            before=await self._opened(opened, state.previous, is_named=False) if state.promoted_at else None,
            canary=await self._opened(opened, state.canary.version) if state.canary else None,
            shadow=await self._opened(opened, state.shadow.version) if state.shadow else None,
        )

    async def _opened(
        self, opened: dict[str, OpenVersion], version: str | None, *, is_named: bool = True
    ) -> OpenVersion | None:
        """The version, opened where it is not yet; None where it does not label."""
        if version is None or version in self.refused:
            return None
        if version not in opened:
            try:
                opened[version] = await self._open(version)
            except UnavailableError as error:
                self._is_to_repeat = True
                _log.warning("version %s of %s does not answer: %s", version, self._scope, error)
            except ConfigurationError as error:
                if is_named:
                    self._is_to_repeat, self.refused[version] = True, str(error)
                _log.warning("version %s of %s does not label: %s", version or "newest", self._scope, error)
        return opened.get(version)

    def _begin_anew(self, before: Plan, plan: Plan) -> None:
        """Count from the change on; with what was seen of a version before, its successor is compared."""
        kept = [each.version for each in (plan.before,) if each is not None]
        if _labeling(before) != _labeling(plan):
            self._seen.tally.restart(kept)
        if _shadowing(before) != _shadowing(plan):
            self._seen.shadow.restart()

    async def _judge(self) -> None:
        plan = self._plans.current
        if plan.state is None or plan.state != self._reader.state:
            return
        for version, verdict in self._verdicts(plan, plan.state):
            if verdict is not None:
                await self._take_back(plan.state, version, verdict)
                return

    def _verdicts(self, plan: Plan, state: Rollout) -> list[tuple[str, Verdict | None]]:
        """What is to be said of each version that is tried."""
        limits, found = state.limits, list[tuple[str, Verdict | None]]()
        serving = plan.serving.version
        if plan.canary is not None:
            tried = self._seen.tally.of(plan.canary.version)
            found.append((plan.canary.version, judge(limits, tried, self._seen.tally.of(serving))))
        if plan.shadow is not None:
            found.append((plan.shadow.version, judge_shadow(limits, self._seen.shadow.comparison)))
        if plan.trusted is not None:
            before = self._seen.tally.of(plan.trusted.version)
            found.append((serving, judge(limits, self._seen.tally.of(serving), before, at_once=False)))
        return found

    async def _take_back(self, state: Rollout, version: str, verdict: Verdict) -> None:
        """Have all workers do without a version; one of those that find the same is enough."""
        said = f"version {version} taken back, {verdict}"
        changed = without(state, version, self._worker, said)
        if changed is None:
            return
        try:
            await self._change(self._scope, changed)
        except ConflictError as error:
            _log.info("version %s is not taken back: %s", version, error)
        except (*UNAVAILABLE, TimeoutError) as error:
            self._is_to_repeat = True
            _log.warning("version %s of %s cannot be taken back: %s", version, self._scope, error)
        else:
            self._metrics.rollbacks.labels(verdict.reason.value).inc()
            _log.warning("%s: %s", self._scope, said)


def _labeling(plan: Plan) -> tuple[str | None, ...]:
    """The versions that label pages."""
    return plan.serving.version, name_of(plan.canary)


def _shadowing(plan: Plan) -> tuple[str | None, ...]:
    """The versions that are compared."""
    return plan.serving.version, name_of(plan.shadow)


def _said(plan: Plan) -> str:
    state = plan.state
    if state is None:
        return "the version that the labeler chooses: no roll-out names one"
    parts = (state.canary if plan.canary else None, state.shadow if plan.shadow else None)
    change = f"revision {state.revision}, by {state.change.by}: {state.change.reason}"
    return f"{said(plan.serving.version, *parts)} ({change})"
