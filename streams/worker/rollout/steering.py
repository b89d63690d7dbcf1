"""Steering by the state of a roll-out: opens the versions that it names, and takes unfit ones back."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from dehusk.schemas.errors import ConfigurationError, ConflictError, UnavailableError
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.schemas.rollout import Rollout, Scope
from dehusk.schemas.trials import (
    CANARY,
    PROMOTED,
    SHADOW,
    TRIALS,
    Figures,
    WorkerReport,
    total_comparison,
    total_figures,
)
from dehusk.streams.availability import UNAVAILABLE
from dehusk.streams.kafka.reader import TopicFollower
from dehusk.streams.rollout.control import Control, ControlKey
from dehusk.streams.rollout.evidence import Begins
from dehusk.streams.rollout.situation import check_unused, taken_back_versions
from dehusk.streams.rollout.transitions import describe_versions, without_version
from dehusk.streams.rollout.verdict import RollbackReason, Verdict, judge
from dehusk.streams.rollout.view import RolloutView, view
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.source import Record
from dehusk.streams.wording import encodable
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.rollout.observing import Observations, pair_of
from dehusk.streams.worker.rollout.plan import OpenVersion, Plan, Plans, name_of

_log = logging.getLogger(__name__)
JUDGE_SECONDS = 1.0
"""Interval between verdicts on the versions on trial."""
RETRY_SECONDS = 15.0
"""Pause before a retry of versions that were refused or did not answer."""
OpenOne = Callable[[str], Awaitable[OpenVersion]]
TakeBack = Callable[[Scope, Rollout, WorkerReport], Awaitable[None]]
"""Writer of a state to the control topic, and of what the worker has seen, as `change_state`."""


class StateReader:
    """Reader of the state of one roll-out from the control topic."""

    def __init__(self, kafka: KafkaSettings, topic: str, scope: Scope) -> None:
        self.scope = scope
        self._control = Control()
        self.changed = asyncio.Event()
        self.following = TopicFollower(
            kafka, topic, self._take, "pages are labeled by the versions known so far"
        )

    @property
    def state(self) -> Rollout | None:
        """Current state; None where there is no roll-out."""
        return self._control.states.get(self.scope)

    def seen(self, but: Container[str | None] = ()) -> list[WorkerReport]:
        """Return what workers have seen of the trials of the state, but for some; see `Control.evidence`."""
        return self._control.evidence(self.scope, but)

    def begins(self, state: Rollout) -> Begins:
        """Return the revisions from which on what is seen counts for a state."""
        return self._control.begins(self.scope, state)

    def live_reports(self) -> list[WorkerReport]:
        """Return the reports of the group's live workers, by name."""
        return self._control.live_reports(self.scope)

    def is_free(self, version: str) -> bool:
        """Return True if no state of any group needs a version, and no live worker labels with it."""
        try:
            check_unused(self._control, self.scope.model, version)
        except ConfigurationError:
            return False
        return True

    def taken_back(self) -> set[str]:
        """Return the versions that workers have taken back, and that no state of any group needs."""
        return taken_back_versions(self._control, self.scope.model)

    def is_claimed(self, now: datetime) -> bool:
        """Return True if a command has versions of the model served."""
        return self._control.claim_on(self.scope.model, now) is not None

    def last_reports(self) -> dict[str, int]:
        """Return the times of the last reports of the group's workers, in milliseconds since 1970."""
        reports = self._control.reports.items()
        return {key.worker: time for key, (_, time) in reports if key.scope == self.scope and key.worker}

    def view(self) -> RolloutView | None:
        """Return the roll-out for people; None where there is none."""
        changes, live = list(self._control.history(self.scope).values()), self.live_reports()
        return None if self.state is None else view(self.state, live, changes, self.seen())

    def stale(self, since: int) -> list[ControlKey]:
        """Return the keys of the group's reports that are older than a time in milliseconds since 1970."""
        reports = self._control.reports.items()
        return [key for key, (_, time) in reports if key.scope == self.scope and time < since]

    def withdrawal(self, key: ControlKey, report: WorkerReport | None = None) -> list[Record]:
        """Return the records that take away a worker's report, which by default is its last one."""
        return self._control.withdrawal(key, report)

    def _take(self, message: Message, time: int) -> None:
        if self._control.apply(message, time) == self.scope:
            self.changed.set()


@dataclass(slots=True, eq=False)
class Steering:
    """Steering of a worker by the current state, from which it takes unfit versions back.

    `notify` is called with each state by which this worker has taken one back.
    """

    _reader: StateReader
    _plans: Plans
    _open: OpenOne
    _change: TakeBack
    worker: str
    _observations: Observations
    _metrics: Metrics
    _notify: Callable[[Rollout], None] = lambda _: None
    revision: int = field(default=0, init=False)
    """Revision of the adopted state."""
    refused: dict[str, str] = field(default_factory=dict, init=False)
    """Versions of the adopted state that do not label, each with the reason."""
    _needs_retry: bool = field(default=False, init=False)
    adopted: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """Set when a state was adopted."""

    async def run(self) -> None:
        """Follow the state and judge the versions on trial, until cancelled."""
        loop = asyncio.get_running_loop()
        retry_at = loop.time()
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._reader.changed.wait(), JUDGE_SECONDS)
            if self._reader.changed.is_set() or (self._needs_retry and loop.time() > retry_at):
                self._reader.changed.clear()
                await self.adopt(self._reader.state)
                retry_at = loop.time() + RETRY_SECONDS
            await self._judge()

    async def adopt(self, state: Rollout | None) -> None:
        """Label with the fit versions of a state from the next batch on."""
        if state is not None and state == self._plans.current.state and not self._needs_retry:
            return
        before, self.refused, self._needs_retry = self._plans.current, {}, False
        plan = await self._plan(before, state)
        if self.refused or not self._needs_retry:
            self.revision = state.revision if state else 0
        if plan is not None and plan != before:
            self._restart(before, plan)
            await self._plans.replace(plan)
            _log.info("labels by %s", _describe(plan))
        self.adopted.set()
        self._metrics.serving = self._serving_beside(state)
        self._metrics.rollout_revision.set(self.revision)
        self._metrics.refused_versions.set(len(self.refused))
        if state is not None:
            for version, reason in self.refused.items():
                await self._take_back(state, version, Verdict(RollbackReason.REFUSED, reason))

    def _serving_beside(self, state: Rollout | None) -> dict[ModelVersion, ModelVersion]:
        """Return the version that serves by the canary of a state; nothing without one."""
        if state is None or state.canary is None:
            return {}
        model = self._reader.scope.model
        return {ModelVersion(model, state.canary.version): ModelVersion(model, state.serving)}

    def notes(self) -> list[str]:
        """Return a notice for each version of the state that does not label."""
        return [f"version {version} does not label: {reason}" for version, reason in self.refused.items()]

    def report(self) -> WorkerReport:
        """Return the report of the worker as it is now."""
        plan = self._plans.current
        answer, labeled_last = plan.serving.answer, self._metrics.model
        if labeled_last is not None and labeled_last.name != self._reader.scope.model:
            labeled_last = None  # of the rules that stood in
        chosen = labeled_last or (answer and answer.model)
        return WorkerReport(
            worker=self.worker,
            revision=self.revision,
            serving=plan.serving.version or (chosen.version if chosen else ""),
            canary=name_of(plan.canary),
            shadow=name_of(plan.shadow),
            refused=dict(self.refused),
            figures=dict(self._observations.figures.by_version),
            comparison=self._observations.shadow.comparison if plan.shadow else None,
            trials={
                trial: self._observations.comparing[trial].comparison
                for trial, is_tried in ((CANARY, plan.canary), (PROMOTED, plan.before))
                if is_tried
            },
        )

    async def _plan(self, before: Plan, state: Rollout | None) -> Plan | None:
        """Return the plan of a state; None if its serving version does not label."""
        versions = {each.version: each for each in before.versions()}
        serving = await self._open_version(versions, state.serving if state else "")
        if serving is None:
            return None
        if state is None:
            return Plan(serving)
        return Plan(
            serving,
            state,
            before=await self._open_version(versions, state.previous, is_named=False)
            if state.promoted_at
            else None,
            canary=await self._open_version(versions, state.canary.version) if state.canary else None,
            shadow=await self._open_version(versions, state.shadow.version) if state.shadow else None,
        )

    async def _open_version(
        self, versions: dict[str, OpenVersion], version: str | None, *, is_named: bool = True
    ) -> OpenVersion | None:
        """Return a version, which is opened if necessary; None if it does not label."""
        if version is None or version in self.refused:
            return None
        if version not in versions:
            try:
                versions[version] = await self._open(version)
            except UnavailableError as error:
                self._needs_retry = True
                _log.warning("version %s of %s does not answer: %s", version, self._reader.scope, error)
            except ConfigurationError as error:
                reason = encodable(str(error))
                if is_named:
                    self._needs_retry, self.refused[version] = True, reason
                _log.warning(
                    "version %s of %s does not label: %s", version or "newest", self._reader.scope, reason
                )
        return versions.get(version)

    def _restart(self, before: Plan, plan: Plan) -> None:
        """Restart what has ended or begun since the plan before, be it in a state that was passed over.

        The figures of the previous version stay for its timeout.
        """
        since = before.state.revision if before.state else 0
        begins = self._reader.begins(plan.state) if plan.state else Begins(since + 1, {})
        if begins.figures > since:
            self._observations.figures.restart([plan.before.version] if plan.before else [])
        going_on = {trial for trial, begin in begins.trials.items() if begin <= since}
        self._observations.restart({*TRIALS} - going_on)

    async def _judge(self) -> None:
        plan = self._plans.current
        if plan.state is None or plan.state != self._reader.state:
            return
        if (unfit := self._find_unfit(plan, plan.state)) is not None:
            await self._take_back(plan.state, *unfit)

    def _find_unfit(self, plan: Plan, state: Rollout) -> tuple[str, Verdict] | None:
        """Return a version on trial, and what all workers of the group have seen that speaks against it."""
        versions = {
            trial: pair.tried.version for trial in TRIALS if (pair := pair_of(plan, trial)) is not None
        }
        if not versions:
            return None
        own = self.report()
        reports = [own, *self._reader.seen({own.worker})]
        figures = total_figures(reports)
        for trial, version in versions.items():
            compared = total_comparison(reports, trial)
            seen = compared.shadow if trial == SHADOW else figures.get(version, Figures())
            if (verdict := judge(trial, state.limits, seen, compared)) is not None:
                return version, verdict
        return None

    async def _take_back(self, state: Rollout, version: str, verdict: Verdict) -> None:
        """Take a version back for all workers."""
        reason = f"version {version} taken back, {verdict}"
        changed = without_version(state, version, self.worker, reason)
        if changed is None:
            return
        try:
            await self._change(self._reader.scope, changed, self.report())
        except ConflictError as error:
            _log.info("version %s is not taken back: %s", version, error)
        except (*UNAVAILABLE, TimeoutError) as error:
            self._needs_retry = True
            _log.warning("version %s of %s cannot be taken back: %s", version, self._reader.scope, error)
        else:
            self._metrics.rollbacks.labels(verdict.reason.value).inc()
            _log.warning("%s: %s", self._reader.scope, reason)
            self._notify(changed)


def _describe(plan: Plan) -> str:
    state = plan.state
    if state is None:
        return "the version that the labeler chooses: no roll-out names one"
    parts = (state.canary if plan.canary else None, state.shadow if plan.shadow else None)
    change = f"revision {state.revision}, by {state.change.by}: {state.change.reason}"
    return f"{describe_versions(plan.serving.version, *parts)} ({change})"
