"""What a training run of BoilerNet is made of, read from a small TOML file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, get_args

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.configuration import Tables, read_tables

DEFAULT_CONFIG = Path(__file__).with_name("boilernet.toml")

FirstWeights = Literal["keras", "torch"]
"""The framework whose first weights a network has."""


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
    punctuation: bool
    """Whether each punctuation character is a word, or none is read."""
    separate_unknown: bool
    """Whether unknown tags and unknown words have an input each, or share one."""
    dense: int
    hidden: int
    layers: int
    dropout: float
    first_weights: FirstWeights

    def __post_init__(self) -> None:
        if self.first_weights not in get_args(FirstWeights):
            names = " or ".join(get_args(FirstWeights))
            raise ConfigurationError(f"first_weights is {names}, not {self.first_weights!r}")


@dataclass(frozen=True, slots=True)
class TrainerConfig:
    """How the network is trained."""

    seeds: tuple[int, ...]
    """A network is trained from each; the one whose score is the median is published."""
    epochs: int
    batch_pages: int
    by_length: bool
    """Whether the pages of a batch are of similar length, or any."""
    crop_blocks: int
    """Longer pages are cut to a random window of this many blocks in each epoch."""
    class_weights: bool
    """Whether both classes count the same in the loss, or all blocks do."""
    learning_rate: float
    adam_epsilon: float
    warmup_steps: int
    decay: bool
    """Whether the learning rate falls to zero, or stays."""
    gradient_norm: float
    best_epoch: bool
    """Whether the epoch that labels the held-out pages best is kept, or the last."""
    threads: int


@dataclass(frozen=True, slots=True)
class BoilerNetConfig:
    """One training run."""

    data: DataConfig | None
    """None where blocks come with their labels."""
    network: NetworkConfig
    trainer: TrainerConfig

    @classmethod
    def from_tables(cls, tables: Tables) -> Self:
        """The configuration of these tables; every setting must be there, and no other."""
        data = tables.get("data")
        return cls(
            data=None if data is None else DataConfig(**data),
            network=NetworkConfig(**tables["network"]),
            trainer=TrainerConfig(**tables["trainer"] | {"seeds": tuple(tables["trainer"]["seeds"])}),
        )


def read_config(file: Path) -> BoilerNetConfig:
    """The configuration in a TOML file.

    Raises:
        ConfigurationError: the file has a setting too few or too many.
    """
    return read_tables(file, BoilerNetConfig.from_tables)
