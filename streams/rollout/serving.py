"""Having Triton serve what a state names, before the state is written."""

from dataclasses import dataclass, replace
from pathlib import Path

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import Rollout
from dehusk.streams.models.provision import ready_versions, to_serve
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.serving import serve
from dehusk.streams.rollout.moving import Situation, read_existing
from dehusk.streams.rollout.usage import unpinned
from dehusk.streams.rollout.waiting import wait_for_workers
from dehusk.streams.rollout.writing import change_state
from dehusk.streams.settings import KafkaSettings


@dataclass(frozen=True, slots=True)
class ControlTopic:
    """The topic on which states are written."""

    kafka: KafkaSettings
    name: str


async def serve_named(
    topic: ControlTopic,
    situation: Situation,
    state: Rollout,
    server: ModelServer,
    repository: Path,
    *,
    seconds: float,
) -> Situation:
    """Have Triton serve what a state names that is to be written; the situation to go on from.

    Workers without a state label with the newest version that is served. So where a newer one is to come,
    those of the group get a state first that names what they label with, and are waited for.

    Raises:
        ConfigurationError: Triton does not serve it, and cannot; or workers of other groups would take it.
        UnavailableError: Triton or Kafka does not answer, or workers do not follow within the seconds.
    """
    model = situation.scope.model
    wanted = await to_serve(server, repository, model, state)
    if not wanted:
        return situation
    if wanted[-1:] != (await ready_versions(server, model))[-1:]:
        await _check_others(topic, situation, wanted[-1])
        situation = await _pin(topic, situation, state, seconds)
    await serve(server, repository, model, wanted)
    return situation


async def _check_others(topic: ControlTopic, situation: Situation, version: str) -> None:
    """See whether no workers of other groups would label with a version as soon as it is served."""
    scope = situation.scope
    for other in unpinned(await read_existing(topic.kafka, topic.name), scope.model):
        if other != scope:
            raise ConfigurationError(
                f"workers of {other} have no state, and would label with version {version} as soon as it is "
                f"served: promote the version that serves for them first (--group {other.group})"
            )


async def _pin(topic: ControlTopic, situation: Situation, state: Rollout, seconds: float) -> Situation:
    """The situation once all workers of the group follow a state."""
    pin = situation.pin(state)
    if pin is None:
        return situation
    await change_state(topic.kafka, topic.name, situation.scope, pin)
    await wait_for_workers(topic.kafka, topic.name, situation.scope, pin, seconds)
    return replace(situation, state=pin)
