"""Which versions label the pages of a batch: a plan holds from the batch's begin to its end."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from dehusk.schemas.pages import Encoding
from dehusk.schemas.rollout import Rollout
from dehusk.streams.rollout.split import is_of_share
from dehusk.streams.worker.rollout.versions import OpenVersion


@dataclass(frozen=True, slots=True)
class Plan:
    """The versions that label, as far as they do what the state says."""

    serving: OpenVersion
    state: Rollout | None = None
    """What the plan follows; None where there is no roll-out."""
    before: OpenVersion | None = None
    """The version that served before, which is trusted while the serving one is on probation."""
    canary: OpenVersion | None = None
    shadow: OpenVersion | None = None

    def is_of_canary(self, site: str) -> bool:
        """Whether the canary labels the pages of a site."""
        part = self.state.canary if self.state and self.canary else None
        return part is not None and is_of_share(site, part.share)

    @property
    def trusted(self) -> OpenVersion | None:
        """The version that labels what the serving one does not, while that is on probation."""
        on_probation = self.before and self.state and self.state.trusted(datetime.now(UTC))
        return self.before if on_probation else None

    def opened(self) -> Iterator[OpenVersion]:
        """All its versions."""
        return (each for each in (self.serving, self.before, self.canary, self.shadow) if each is not None)

    @property
    def encodings(self) -> frozenset[Encoding]:
        """What its versions read of a page beside what each page has."""
        return frozenset[Encoding]().union(*(each.labeler.encodings for each in self.opened()))

    def hold(self) -> None:
        """Have its versions stay open."""
        for each in self.opened():
            each.hold()

    async def release(self) -> None:
        """Let its versions go."""
        for each in self.opened():
            await each.release()


class Plans:
    """The plan of the batches that begin now; one that was replaced stays open until its last batch ends."""

    def __init__(self, plan: Plan) -> None:
        self.current = plan
        plan.hold()

    @asynccontextmanager
    async def begun(self) -> AsyncIterator[Plan]:
        """The plan of a batch that begins now."""
        plan = self.current
        plan.hold()
        try:
            yield plan
        finally:
            await plan.release()

    async def replace(self, plan: Plan) -> None:
        """Have the batches that begin from now on follow another plan."""
        before, self.current = self.current, plan
        plan.hold()
        await before.release()

    async def close(self) -> None:
        """Let the current plan go."""
        await self.current.release()
