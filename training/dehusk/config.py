"""What a training run of the default model is made of, read from a small TOML file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dehusk.training.configuration import Tables, read_tables


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """The network's sizes."""

    dense: int
    hidden: int
    dropout: float


@dataclass(frozen=True, slots=True)
class TrainerConfig:
    """How the network is trained."""

    seed: int
    folds: int
    """Parts of the sites by which token scores and the first pass's answers are given out of fold, and the
    model is cross-validated; at least 3, as the first pass leaves one out and the token scores another."""
    epochs: int
    batch_pages: int
    crop_blocks: int
    """Longer pages are cut to a random window of this many blocks in each epoch."""
    learning_rate: float
    warmup_steps: int
    weight_decay: float
    gradient_norm: float
    doubtful: float
    """How far uncertain labels are believed."""
    most_of_a_site: int
    """Pages of one site that are learned from."""
    altered: float
    """What an altered page counts beside the whole one."""
    page_type_weight: float
    """What the page types count in the loss beside the blocks."""
    input_dropout: float
    """Share of the inputs that a batch does not see."""
    blind: float
    """Share of the pages whose words are not seen, as in a language that was not trained on."""
    undeclared: float
    """Share of the pages whose JSON-LD and noscript are not seen, as on a page stripped of them."""
    least_sites: int
    """Sites on which a token must be met to weigh anything."""
    threads: int


@dataclass(frozen=True, slots=True)
class TreesConfig:
    """How the trees of the second pass are grown, in LightGBM's terms."""

    trees: int
    leaves: int
    bins: int
    learning_rate: float
    columns_share: float
    """Share of the columns that a tree sees."""
    blocks_share: float
    """Share of the blocks that a tree sees."""
    least_blocks: int
    """Blocks that a leaf must have."""
    l2: float
    threads: int


@dataclass(frozen=True, slots=True)
class DehuskConfig:
    """One training run."""

    content_share: float
    """A block is content when at least this share of its words is aligned (Web2Text §4.1)."""
    least_oracle: float
    """Pages on which even the aligned blocks reproduce the gold text worse than this are not trained on."""
    network: NetworkConfig
    trainer: TrainerConfig
    trees: TreesConfig
    offset: float
    """What is added to the logits of content, so that they hold on collections that were not learned from."""
    importance: Mapping[str, float]
    """What a page of a collection counts; 1 where it is not named."""

    @classmethod
    def from_tables(cls, tables: Tables) -> Self:
        """The configuration of these tables; every setting must be there, and no other."""
        return cls(
            **tables["data"],
            network=NetworkConfig(**tables["network"]),
            trainer=TrainerConfig(**tables["trainer"]),
            trees=TreesConfig(**tables["trees"]),
            offset=tables["calibration"]["offset"],
            importance=tables["importance"],
        )


DEFAULT_CONFIG = Path(__file__).with_name("dehusk.toml")


def read_config(file: Path) -> DehuskConfig:
    """The configuration in a TOML file.

    Raises:
        ConfigurationError: the file has a setting too few or too many.
    """
    return read_tables(file, DehuskConfig.from_tables)
