"""Labelers of single versions, each open while somebody needs it."""

import asyncio
import logging
from dataclasses import replace

from dehusk.inference.labeler import Labeler
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Prediction
from dehusk.streams.worker.dependencies import open_labeler
from dehusk.streams.worker.settings import WorkerSettings
from dehusk.streams.worker.takeover import TakeoverLog
from dehusk.streams.worker.witnesses import PROBE, WitnessedLabeler

_log = logging.getLogger(__name__)


class OpenVersion:
    """The labeler of a version; it is closed when the last one who holds it lets it go."""

    def __init__(self, version: str, labeler: Labeler, answer: Prediction | None) -> None:
        self.version = version
        """Empty for the one that the labeler chooses."""
        self.answer = answer
        """What it gave for a line of text; None where it was opened before it answered."""
        model = None if answer is None else answer.model
        self.labeler = WitnessedLabeler(labeler if version else TakeoverLog(labeler, model))
        self._holders = 0

    def hold(self) -> None:
        """Have it stay open."""
        self._holders += 1

    async def release(self) -> None:
        """Let it go."""
        self._holders -= 1
        if not self._holders:
            await self.labeler.close()


def name_of(version: OpenVersion | None) -> str | None:
    """The number of a version, if there is one."""
    return None if version is None else version.version


async def open_version(settings: WorkerSettings, version: str, *, may_be_away: bool = False) -> OpenVersion:
    """A version that labels a line of text; with `may_be_away`, also one that does not answer at all.

    Raises:
        ConfigurationError: it is not served, speaks no known signature, or rejects the line.
        UnavailableError: it does not answer.
    """
    pinned = replace(settings, triton=replace(settings.triton, version=version))
    labeler = await asyncio.to_thread(open_labeler, pinned)
    try:
        answer = await _probe(labeler)
    except UnavailableError:
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
