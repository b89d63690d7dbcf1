"""Plans: the versions that label a batch, which stay open until the batch ends."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b

from dehusk.inference.labelers.labeler import Labeler
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Encoding, Prediction
from dehusk.schemas.rollout import Rollout
from dehusk.streams.labelers import PROBE, open_labeler
from dehusk.streams.worker.steps.labeling import ProbedLabeler, TakeoverLog
from dehusk.streams.worker_settings import WorkerSettings

_HASHES = float(1 << 64)


class OpenVersion:
    """Labeler of a version, closed when its last holder releases it."""

    def __init__(self, version: str, labeler: Labeler, answer: Prediction | None) -> None:
        self.version = version
        """Number of the version; empty for the one that the labeler chooses."""
        self.answer = answer
        """Answer to a line of text; None if the version did not answer when it was opened."""
        model = None if answer is None else answer.model
        self.labeler = ProbedLabeler(labeler if version else TakeoverLog(labeler, model))
        self._holders = 0

    def hold(self) -> None:
        """Keep it open."""
        self._holders += 1

    async def release(self) -> None:
        """Close it if nobody else holds it."""
        self._holders -= 1
        if not self._holders:
            await self.labeler.close()


def name_of(version: OpenVersion | None) -> str | None:
    """Return the number of a version, if there is one."""
    return None if version is None else version.version


async def open_version(settings: WorkerSettings, version: str, *, may_be_away: bool = False) -> OpenVersion:
    """Open a version that labels a line of text; with `may_be_away`, also one that does not answer at all.

    Raises:
        ConfigurationError: it is not served, speaks no known signature, or rejects the line; or it runs in
            this process, and fails.
        UnavailableError: it does not answer.
    """
    pinned = replace(settings, triton=replace(settings.triton, version=version))
    labeler = await asyncio.to_thread(open_labeler, pinned)
    try:
        answer = await _probe(labeler)
    except UnavailableError as error:
        if settings.labeler == "onnx":  # it is here, and would fail again
            await labeler.close()
            raise ConfigurationError(str(error)) from error
        if may_be_away:
            return OpenVersion(version, labeler, None)
        await labeler.close()
        raise
    except ConfigurationError:
        await labeler.close()
        raise
    return OpenVersion(version, labeler, answer)


async def _probe(labeler: Labeler) -> Prediction:
    (answer,) = await labeler.label([PROBE])
    if isinstance(answer, Broken):
        raise ConfigurationError(f"it rejects a line of text: {answer.detail}")
    return answer


def is_of_share(name: str, share: float) -> bool:
    """Return True if a name belongs to a share of all names, by its hash; larger shares include smaller ones.

    The empty name belongs to none: pages without a site stay with the serving version.
    """
    if not name:
        return False
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) / _HASHES < share


@dataclass(frozen=True, slots=True)
class Plan:
    """Open versions that label, as far as those of the state are fit."""

    serving: OpenVersion
    state: Rollout | None = None
    """State that the plan follows; None without a roll-out."""
    before: OpenVersion | None = None
    """Version that served before, which is trusted while the serving one is on probation."""
    canary: OpenVersion | None = None
    shadow: OpenVersion | None = None

    def is_labeled_by_canary(self, site: str) -> bool:
        """Return True if the canary labels the pages of a site."""
        part = self.state.canary if self.state and self.canary else None
        return part is not None and is_of_share(site, part.share)

    @property
    def trusted(self) -> OpenVersion | None:
        """Version to fall back on while the serving one is on probation; None otherwise."""
        on_probation = self.before and self.state and self.state.trusted(datetime.now(UTC))
        return self.before if on_probation else None

    def versions(self) -> Iterator[OpenVersion]:
        """Return all its open versions."""
        return (each for each in (self.serving, self.before, self.canary, self.shadow) if each is not None)

    @property
    def encodings(self) -> frozenset[Encoding]:
        """Optional encodings that its versions need."""
        return frozenset[Encoding]().union(*(each.labeler.encodings for each in self.versions()))

    def hold(self) -> None:
        """Keep its versions open."""
        for each in self.versions():
            each.hold()

    async def release(self) -> None:
        """Close its versions that nobody else holds."""
        for each in self.versions():
            await each.release()


class Plans:
    """Current plan, for batches that begin now; a replaced one stays open until its last batch ends."""

    def __init__(self, plan: Plan) -> None:
        self.current = plan
        plan.hold()

    @asynccontextmanager
    async def held(self) -> AsyncIterator[Plan]:
        """Hold the current plan for a batch that begins now."""
        plan = self.current
        plan.hold()
        try:
            yield plan
        finally:
            await plan.release()

    async def replace(self, plan: Plan) -> None:
        """Make another plan the current one."""
        before, self.current = self.current, plan
        plan.hold()
        await before.release()

    async def check(self) -> None:
        """Check that the trusted or else the serving labeler answers; raises one of UNAVAILABLE."""
        async with self.held() as plan:  # a version that is closed meanwhile would cancel its request
            await (plan.trusted or plan.serving).labeler.check()

    async def close(self) -> None:
        """Release the current plan."""
        await self.current.release()
