"""What a training run is made of, read from a small TOML file."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from schemas.errors import ConfigurationError

DEFAULT_CONFIG = Path(__file__).with_name("boilernet.toml")


@dataclass(frozen=True, slots=True)
class DataConfig:
    """How pages with gold texts are labeled, which of them are learned from, and which are held out."""

    held_out: float
    """Share of the sites that are never trained on."""
    content_share: float
    """A block is content when at least this share of its words is aligned (Web2Text §4.1)."""
    least_oracle: float
    """Pages on which even the aligned blocks reproduce the gold text worse than this are not trained on."""


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """The network's inputs and sizes."""

    tags: int
    words: int
    dense: int
    hidden: int
    layers: int
    dropout: float


@dataclass(frozen=True, slots=True)
class TrainerConfig:
    """How the network is trained."""

    seed: int
    epochs: int
    batch_pages: int
    by_length: bool
    """Whether the pages of a batch are of similar length, or any."""
    crop_blocks: int
    """Longer pages are cut to a random window of this many blocks in each epoch."""
    learning_rate: float
    warmup_steps: int
    decay: bool
    """Whether the learning rate falls to zero, or stays."""
    gradient_norm: float
    best_epoch: bool
    """Whether the epoch that labels the held-out pages best is kept, or the last."""
    threads: int


@dataclass(frozen=True, slots=True)
class Config:
    """One training run."""

    data: DataConfig | None
    """None where blocks come with their labels."""
    network: NetworkConfig
    trainer: TrainerConfig

    @classmethod
    def from_tables(cls, tables: dict[str, dict[str, Any]]) -> Self:
        """The configuration of these tables; every setting must be there, and no other."""
        data = tables.get("data")
        return cls(
            data=None if data is None else DataConfig(**data),
            network=NetworkConfig(**tables["network"]),
            trainer=TrainerConfig(**tables["trainer"]),
        )


def read_config(file: Path) -> Config:
    """The configuration in a TOML file.

    Raises:
        ConfigurationError: the file has a setting too few or too many.
    """
    try:
        return Config.from_tables(tomllib.loads(file.read_text(encoding="utf-8")))
    except (KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{file} is no training configuration: {error}") from error
