"""Current roll-outs: their states, the workers that follow them, and the versions in use."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dehusk.inference.labelers.repository import versions
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import Rollout, Scope, VersionRole
from dehusk.schemas.trials import EndedTrial, WorkerReport
from dehusk.streams.kafka.client import check_control_topic, control_topic, describe_topics, how_to_create
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.serving import reads, ready_versions, serve, to_serve
from dehusk.streams.models.store import Guard
from dehusk.streams.rollout.control import Control, read_control
from dehusk.streams.rollout.transitions import describe_share, first_state
from dehusk.streams.settings import ControlTopic

_MAX_NAMED = 5
"""Other roll-outs that are named where one has no workers."""


@dataclass(frozen=True, slots=True)
class Situation:
    """State, live workers and ended trials of a roll-out."""

    scope: Scope
    state: Rollout | None
    workers: list[WorkerReport]
    """Reports of the live workers."""
    seen: Sequence[WorkerReport] = ()
    """Reports that count for the state, also of stopped workers; without a state, those of live ones."""
    ended: Sequence[EndedTrial] = ()
    """Trials that have ended, oldest first."""
    taken_back: frozenset[str] = frozenset()
    """Versions of the model that workers have taken back, and that no state needs."""
    others: Sequence[Scope] = ()
    """Other roll-outs on the topic, with a state or live workers."""

    @property
    def elsewhere(self) -> str:
        """End of a sentence on a roll-out without a state or workers: where the topic has others."""
        others = "" if self.state else " and ".join(map(str, self.others[:_MAX_NAMED]))
        return others and f"; the topic has {others}"

    def current(self, by: str, *, serving: str | None = None) -> Rollout:
        """Return the current state, from which the next one is made.

        Without one, return that of the version that all workers label with or, if none reports, of `serving`.

        Raises:
            ConfigurationError: workers label with several versions, or with none that is known.
        """
        if self.state is not None:
            return self.state
        found = self._labeling()
        if serving in found:
            return first_state(serving, by)
        if len(found) > 1:
            several = " and ".join(found)
            raise ConfigurationError(f"workers label with versions {several}: promote one of them first")
        if not found and serving is None:
            raise ConfigurationError(
                f"no worker of {self.scope} reports which version serves; promote that one first"
                f"{self.elsewhere}"
            )
        return first_state(found[0] if found else serving or "", by)

    def trusted_after(self, state: Rollout, trusted: str) -> str:
        """Return the trusted version after a change: it moves with the group that labels with it."""
        before = {self.state.serving} if self.state else set(self._labeling())
        return state.serving if not before or trusted in before else trusted

    def trusted_until(self, state: Rollout, trusted: str) -> str:
        """Return the trusted version until a change is written; one that was taken back is none."""
        if trusted not in self.taken_back:
            return trusted
        return self.state.serving if self.state else state.previous or state.serving

    def _labeling(self) -> list[str]:
        """Return the versions that workers report to label with."""
        return sorted({report.serving for report in self.workers if report.serving})


async def read_situation(topic: ControlTopic, scope: Scope) -> Situation:
    """Read the state, live workers and ended trials of a roll-out.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    control = await read_existing(topic)
    state, workers, ended = control.states.get(scope), control.live_reports(scope), control.ended(scope)
    seen = control.evidence(scope) if state else workers
    taken_back = frozenset(taken_back_versions(control, scope.model))
    scopes = {*control.states, *(key.scope for key in control.reports if control.live_reports(key.scope))}
    others = sorted(scopes - {scope}, key=str)
    return Situation(scope, state, workers, seen, ended, taken_back, others)


async def read_existing(topic: ControlTopic) -> Control:
    """Read a topic that has to exist; where it does not, the error has the command that creates it.

    Raises:
        ConfigurationError: the topic does not exist, is no control topic, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    existing = await describe_topics(topic.kafka, [topic.name])
    if not existing:
        creating = how_to_create(topic.kafka, [control_topic(topic.name, 1)])
        raise ConfigurationError(f"topic {topic.name} does not exist on {topic.kafka.brokers}; {creating}")
    check_control_topic(existing[topic.name])
    return await read_control(topic)


async def serve_named(
    topic: ControlTopic,
    situation: Situation,
    state: Rollout,
    server: ModelServer,
    repository: Path,
    *,
    guard: Guard,
) -> None:
    """Have Triton serve what a state names before it is written; the trusted version stays the same.

    Raises:
        ConfigurationError: Triton does not serve it, and cannot; or workers of other groups would follow.
        UnavailableError: Triton or Kafka does not answer.
    """
    model = situation.scope.model
    wanted = await to_serve(server, repository, model, state, situation.taken_back)
    by_triton = await server.trusted(model, await ready_versions(server, model))
    trusted = situation.trusted_until(state, by_triton)
    if situation.trusted_after(state, trusted) != trusted:
        await _check_others(topic, situation.scope, state.serving)
    if wanted:
        beside = situation.taken_back
        await serve(server, repository, model, wanted, trusted, beside=beside, guard=guard)


async def trust_serving(
    situation: Situation, state: Rollout, server: ModelServer, repository: Path, *, guard: Guard
) -> bool:
    """Have the version that serves by a written state be the trusted one, if the one before was.

    Return False if it is not the trusted one, as the repository is not that of Triton.

    Raises:
        ConfigurationError: the repository cannot be written, or Triton refuses.
        UnavailableError: Triton does not answer.
    """
    model = situation.scope.model
    ready = await server.ready(model)
    trusted = await server.trusted(model, ready)
    after = situation.trusted_after(state, trusted)
    if after == trusted:
        return True
    if not {after, *ready} <= set(versions(repository, model)) or not await reads(server, repository):
        return False
    named = [version for version in ready if version in state.kept or version not in situation.taken_back]
    await serve(server, repository, model, named, after, beside=situation.taken_back, guard=guard)
    return True


async def _check_others(topic: ControlTopic, scope: Scope, version: str) -> None:
    """Check that no workers of other groups would label with a version as soon as it is the trusted one."""
    for other in unpinned(await read_existing(topic), scope.model):
        if other != scope:
            raise ConfigurationError(
                f"workers of {other} have no state, and would label with version {version} as soon as it is "
                f"trusted: promote the version that serves for them first (--group {other.group})"
            )


@dataclass(frozen=True, slots=True)
class Role:
    """The role of a version in the roll-out of a group."""

    group: str
    role: VersionRole
    share: float | None = None
    """Share of a canary or shadow."""

    def __str__(self) -> str:
        share = "" if self.share is None else f" {describe_share(self.share)}"
        return f"{self.role}{share} in {self.group}"


def roles(control: Control) -> dict[tuple[str, str], list[Role]]:
    """Return the roles of each version in the states of all groups, by model and version."""
    found: dict[tuple[str, str], list[Role]] = {}
    for scope, state in sorted(control.states.items(), key=lambda each: each[0].group):
        for version, role, share in state.roles():
            found.setdefault((scope.model, version), []).append(Role(scope.group, role, share))
    return found


def unpinned(control: Control, model: str) -> list[Scope]:
    """Return the roll-outs with live workers and no state: they label with the trusted version."""
    scopes = {key.scope for key in control.reports if key.scope.model == model}
    found = [scope for scope in scopes if scope not in control.states and control.live_reports(scope)]
    return sorted(found, key=lambda scope: scope.group)


def pinned_versions(control: Control, model: str) -> set[str]:
    """Return the versions that the states of all groups name for a model, or go back to."""
    states = [state for scope, state in control.states.items() if scope.model == model]
    return {version for state in states for version in state.kept}


def taken_back_versions(control: Control, model: str) -> set[str]:
    """Return the versions of a model that workers of any group have taken back, and that no state needs."""
    scopes = {key.scope for key in control.changes if key.scope.model == model}
    changes = [state.change for scope in scopes for state in control.history(scope).values()]
    taken_back = {change.taken_back for change in changes if change.taken_back is not None}
    return taken_back - pinned_versions(control, model)


def check_unused(control: Control, model: str, version: str) -> None:
    """Check that no roll-out needs a version.

    Raises:
        ConfigurationError: a state names it, or goes back to it, or a worker labels with it.
    """
    for use in _uses(control, model, version):
        raise ConfigurationError(f"{model}/{version} is needed: {use}")


def _uses(control: Control, model: str, version: str) -> Iterator[str]:
    for scope, state in control.states.items():
        if scope.model == model and version in state.versions:
            yield f"the roll-out of {scope} names it; roll it back, or promote another one"
        elif scope.model == model and version == state.previous:
            yield f"a rollback of {scope} goes back to it, until another one is promoted"
    for scope in {key.scope for key in control.reports if key.scope.model == model}:
        for report in control.live_reports(scope):
            if version in report.versions:
                yield f"worker {report.worker} of {scope} labels with it"
