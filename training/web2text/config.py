"""What a training run of Web2Text is made of, read from a small TOML file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dehusk.training.configuration import Tables, read_tables


@dataclass(frozen=True, slots=True)
class DataConfig:
    """How pages are labeled, which of them are learned from, and which are held out."""

    held_out: float
    """Share of the sites that models are scored on."""
    validation: float
    """Share of the sites that the iteration is chosen by."""
    content_share: float
    """A block is content when at least this share of its words is aligned (§4.1)."""
    least_oracle: float
    """Pages on which even the aligned blocks reproduce the gold text worse than this are not trained on."""
    most_of_a_site: int
    """Pages of one site that are learned from."""


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """The sizes of both networks, which have the same but for their inputs and outputs."""

    filters: tuple[int, ...]
    """Of each layer but the last."""
    kernels: tuple[int, ...]
    """Blocks that a filter of each layer sees: 1 or 3."""
    dropout: float
    coupling: float
    """The paper's lambda: what the pairwise potentials count beside the unary ones."""


@dataclass(frozen=True, slots=True)
class TrainerConfig:
    """How the networks are trained."""

    seeds: tuple[int, ...]
    """Models are trained from each; the one whose score is the median is published."""
    iterations: int
    batch_excerpts: int
    excerpt_blocks: int
    learning_rate: float
    weight_decay: float
    validate_every: int
    """Iterations after which the validation error is looked at."""
    threads: int


@dataclass(frozen=True, slots=True)
class Web2TextConfig:
    """One training run."""

    data: DataConfig
    network: NetworkConfig
    trainer: TrainerConfig

    @classmethod
    def from_tables(cls, tables: Tables) -> Self:
        """The configuration of these tables; every setting must be there, and no other."""
        network, trainer = tables["network"], tables["trainer"]
        return cls(
            data=DataConfig(**tables["data"]),
            network=NetworkConfig(
                **network | {name: tuple(network[name]) for name in ("filters", "kernels")}
            ),
            trainer=TrainerConfig(**trainer | {"seeds": tuple(trainer["seeds"])}),
        )


def read_config(file: Path) -> Web2TextConfig:
    """The configuration in a TOML file.

    Raises:
        ConfigurationError: the file has a setting too few or too many.
    """
    return read_tables(file, Web2TextConfig.from_tables)
