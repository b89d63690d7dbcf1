"""The kinds of models that are trained here: the package of each has the same commands."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion
from dehusk.training.configuration import read_tables
from dehusk.training.dehusk.parts import LeftOut

# ruff: noqa: PLC0415 -- the training framework is imported by the commands that use it


class Kind(Protocol):
    """The way from data to a published version; `config` is the file with the settings.

    Each command goes on from what the one before it left in `directory`.
    """

    def prepare(
        self,
        files: Sequence[Path],
        directory: Path,
        config: Path,
        processes: int,
        validation: Sequence[Path],
        *,
        labels: Path | None = None,
    ) -> None:
        """Label and encode the pages of the files; of those for validation, all are held out.

        `labels` are those of `dehusk label`, which pages take instead of what their gold text says.
        """
        ...

    def train(self, directory: Path, config: Path) -> None:
        """Train the networks; goes on from the last checkpoint where one is."""
        ...

    def cross_validate(
        self, directory: Path, config: Path, seeds: Sequence[int], *, leave_out: LeftOut, ablate: bool
    ) -> None:
        """Score models on what they never saw; with `ablate` also without each input or detail."""
        ...

    def evaluate(
        self, directory: Path, config: Path, model: str, version: str | None, repository: Path
    ) -> None:
        """Score a version of a model of the repository, or what was trained."""
        ...

    def export(self, directory: Path, config: Path, published: ModelVersion, repository: Path) -> None:
        """Publish what was trained as a version of the repository, with its card."""
        ...


def kind_of(config: Path) -> Kind:
    """The kind of model that a file configures.

    Raises:
        ConfigurationError: it names none that is known.
    """
    kind = read_tables(config, lambda tables: tables["kind"])
    if kind == "dehusk":
        from dehusk.training.dehusk import commands as dehusk

        return dehusk
    if kind == "boilernet":
        from dehusk.training.boilernet import commands as boilernet

        return boilernet
    if kind == "web2text":
        from dehusk.training.web2text import commands as web2text

        return web2text
    raise ConfigurationError(f"{config} is no training configuration: there is no kind {kind!r} of model")
