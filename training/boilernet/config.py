"""Configuration of a training run of BoilerNet, read from a small TOML file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, get_args

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.batches import EpochSettings
from dehusk.training.runs import RunConfig, Tables, check_seeds

DEFAULT_CONFIG = Path(__file__).with_name("boilernet.toml")

FirstWeights = Literal["keras", "torch"]
"""Framework whose first weights a network has."""


@dataclass(frozen=True, slots=True)
class DataConfig:
    """Labeling of pages with gold texts, and choice of those that are learned from and held out."""

    held_out: float
    """Share of the sites that are never trained on."""
    content_share: float
    """Share of a block's words that must be aligned for it to be content (Web2Text §4.1)."""
    least_oracle: float
    """Least F1 of the gold text by the aligned blocks; other pages are not trained on."""


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """Inputs and sizes of the network."""

    tags: int
    words: int
    punctuation: bool
    """True if each punctuation character is a word; else none is read."""
    separate_unknown: bool
    """True if unknown tags and unknown words have an input each; else they share one."""
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
class TrainerConfig(EpochSettings):
    """Settings of the network's training."""

    seeds: tuple[int, ...]
    """Seeds from each of which a network is trained; the one whose score is the median is published."""
    by_length: bool
    """True if the pages of a batch are of similar length."""
    class_weights: bool
    """True if both classes count the same in the loss; else all blocks do."""
    adam_epsilon: float
    decay: bool
    """True if the learning rate falls to zero; else it stays."""
    best_epoch: bool
    """True if the epoch that labels the held-out pages best is kept; else the last is."""

    def __post_init__(self) -> None:
        check_seeds(self.seeds)


@dataclass(frozen=True, slots=True)
class BoilerNetConfig(RunConfig):
    """Configuration of one training run."""

    kind = "boilernet"
    data: DataConfig | None
    """None where blocks come with their labels."""
    network: NetworkConfig
    trainer: TrainerConfig

    @classmethod
    def _from_tables(cls, tables: Tables) -> Self:
        data = tables.get("data")
        return cls(
            data=None if data is None else DataConfig(**data),
            network=NetworkConfig(**tables["network"]),
            trainer=TrainerConfig(**tables["trainer"] | {"seeds": tuple(tables["trainer"]["seeds"])}),
        )
