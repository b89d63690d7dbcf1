"""What is to be moved: the current state of a roll-out, and the workers that follow it."""

import time
from dataclasses import dataclass

from dehusk.schemas.comparison import WorkerReport
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import Limits, Rollout, Scope
from dehusk.streams.kafka import Topic, describe_topics, how_to_create
from dehusk.streams.rollout.control import Control
from dehusk.streams.rollout.reading import read_control
from dehusk.streams.rollout.steps import first, pinned
from dehusk.streams.settings import KafkaSettings

REPORT_SECONDS = 10.0
"""How often a worker reports."""
_LIVE_SECONDS = 3 * REPORT_SECONDS
"""How old the report of a worker may be that is taken to be there."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A roll-out as it is."""

    scope: Scope
    state: Rollout | None
    workers: list[WorkerReport]
    """What those report that are there."""

    def current(self, by: str, limits: Limits, *, serving: str | None = None) -> Rollout:
        """The state to go on from; where there is none yet, of the version that all workers label with.

        Where no worker says one, it is `serving`.

        Raises:
            ConfigurationError: they label with several, or with none that is known.
        """
        if self.state is not None:
            return self.state
        found = self._labeling()
        if serving in found:
            return first(serving, by, limits)
        if len(found) > 1:
            several = " and ".join(found)
            raise ConfigurationError(f"workers label with versions {several}: promote one of them first")
        if not found and serving is None:
            raise ConfigurationError(
                f"no worker of {self.scope} reports which version serves; promote that one first"
            )
        return first(found[0] if found else serving or "", by, limits)

    def pin(self, state: Rollout) -> Rollout | None:
        """The state that holds workers on the version that they label with, until `state` is written.

        None where they have a state, or already label with all that `state` names.
        """
        found = self._labeling()
        if self.state is not None or not found or set(state.versions) <= set(found):
            return None
        return pinned(self.current(state.change.by, state.limits), state.change.by)

    def _labeling(self) -> list[str]:
        """The versions that workers say they label with."""
        return sorted({report.serving for report in self.workers if report.serving})


async def look(kafka: KafkaSettings, topic: str, scope: Scope) -> Situation:
    """The roll-out as it is.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    control = await read_existing(kafka, topic)
    return Situation(scope, control.states.get(scope), live_reports(control, scope))


async def read_existing(kafka: KafkaSettings, topic: str) -> Control:
    """What a topic says that has to exist; raises what `look` does."""
    await _require(kafka, topic)
    return await read_control(kafka, topic)


async def _require(kafka: KafkaSettings, topic: str) -> None:
    """See whether the topic exists; the error has the command that creates it as it has to be."""
    if not await describe_topics(kafka, [topic]):
        missing = Topic(topic, 1, 1, {"cleanup.policy": "compact"})
        creating = how_to_create(kafka, [missing])
        raise ConfigurationError(f"topic {topic} does not exist on {kafka.brokers}; {creating}")


def live_reports(control: Control, scope: Scope) -> list[WorkerReport]:
    """What the workers report that are there, by name."""
    since = int(1000 * (time.time() - _LIVE_SECONDS))
    return sorted(control.reports_of(scope, since), key=lambda report: report.worker)
