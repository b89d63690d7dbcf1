"""The labelers that a page can be shown with: the one asked for, the models of the repository, the others."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dehusk.inference.labeler import Labeler
from dehusk.inference.labelers import LOCAL_LABELERS
from dehusk.inference.repository import models, versions
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Prediction
from dehusk.streams.worker.dependencies import open_labeler
from dehusk.streams.worker.settings import WorkerSettings


@dataclass(frozen=True, slots=True)
class Choice:
    """A labeler that can be chosen."""

    name: str
    """What it is called, e.g. `dehusk/7 (onnx)`."""
    settings: WorkerSettings


def choices(settings: WorkerSettings) -> list[Choice]:
    """The labeler of the settings, then every version of every model, then those without; none twice."""
    repository = settings.model_repository
    found = [Choice(_name(settings), settings)]
    for model in models(repository):
        for version in reversed(versions(repository, model)):
            triton = replace(settings.triton, model=model, version=version)
            found.append(
                Choice(f"{model}/{version} (onnx)", replace(settings, labeler="onnx", triton=triton))
            )
    found += [Choice(name, replace(settings, labeler=name)) for name in LOCAL_LABELERS]
    named: dict[str, Choice] = {}
    for choice in found:
        named.setdefault(choice.name, choice)
    return list(named.values())


def _name(settings: WorkerSettings) -> str:
    if settings.labeler in LOCAL_LABELERS:
        return settings.labeler
    triton = settings.triton
    known = versions(settings.model_repository, triton.model) if settings.labeler == "onnx" else []
    version = triton.version or (known[-1] if known else "")
    return f"{triton.model}{version and '/'}{version} ({settings.labeler})"


class Labelers:
    """Opens labelers when they are first asked, and keeps them.

    Raises what `open_labeler` and `Labeler.label` raise.
    """

    def __init__(self, offered: Sequence[Choice]) -> None:
        self._offered = offered
        self._open: dict[int, Labeler] = {}

    async def label(self, number: int, page: EncodedPage) -> Prediction | Broken:
        """What the labeler of this number says of a page."""
        if number not in self._open:
            settings = self._offered[number].settings
            self._open[number] = await asyncio.to_thread(open_labeler, settings)
        (answer,) = await self._open[number].label([page])
        return answer

    async def close(self) -> None:
        """Give back connections and sessions."""
        for labeler in self._open.values():
            await labeler.close()
