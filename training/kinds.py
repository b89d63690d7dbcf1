"""The kinds of models that are trained: the package of each has the same commands."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion
from dehusk.training.dehusk.config import LeftOut
from dehusk.training.runs import Preparation, read_tables

# ruff: noqa: PLC0415 -- the training framework is imported by the commands that use it


class Kind(Protocol):
    """The steps from data to a published version; `config` is the file with the settings.

    Each command goes on from what the one before it left in `directory`.
    """

    def prepare(self, options: Preparation) -> None:
        """Label and encode the pages of the files."""
        ...

    def train(self, directory: Path, config: Path) -> None:
        """Train the networks, from the last checkpoint on where one is."""
        ...

    def cross_validate(
        self, directory: Path, config: Path, seeds: Sequence[int], *, leave_out: LeftOut, ablate: bool
    ) -> None:
        """Score models on pages that they never saw; with `ablate` also without each group of inputs."""
        ...

    def evaluate(
        self, directory: Path, config: Path, model: str, version: str | None, repository: Path
    ) -> None:
        """Score a version of a model of the repository, or the trained one."""
        ...

    def export(self, directory: Path, config: Path, published: ModelVersion, repository: Path) -> None:
        """Publish the trained model as a version of the repository, with its card."""
        ...


def kind_of(config: Path) -> Kind:
    """Return the kind of model that a file configures.

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
