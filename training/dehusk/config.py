"""Configuration of a training run of the default model, a small TOML file, and its folds of the sites."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.batches import EpochSettings
from dehusk.training.runs import RunConfig, Tables, check_seeds

_LEAST_FOLDS = 3
"""Folds of the sites at least: the first pass leaves one out, and the token scores another."""
LeftOut = Literal["site", "collection"]
"""Unit that is left out as a whole where models are cross-validated."""


@dataclass(frozen=True, slots=True)
class DataConfig:
    """Labeling of pages with gold texts."""

    content_share: float
    """Share of a block's words that must be aligned for it to be content (Web2Text §4.1)."""
    least_oracle: float
    """Least F1 of the gold text by the aligned blocks; other pages are not trained on."""


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """Sizes of the network."""

    dense: int
    hidden: int
    dropout: float


@dataclass(frozen=True, slots=True)
class TrainerConfig(EpochSettings):
    """Settings of the network's training."""

    seed: int
    folds: int
    """Parts of the sites by which token scores and the first pass's answers are given out of fold, and the
    model is cross-validated."""
    weight_decay: float
    doubtful: float
    """Weight of uncertain labels."""
    most_of_a_site: int
    """Pages of one site that are learned from."""
    altered: float
    """Weight of an altered page relative to the whole one."""
    page_type_weight: float
    """Weight of the page types in the loss, relative to the blocks."""
    input_dropout: float
    """Share of the inputs that a batch does not see."""
    blind: float
    """Share of the pages whose words are not seen, as in a language that was not trained on."""
    nameless: float
    """Share of the pages whose class names are not seen, as on a site whose names were not met."""
    undeclared: float
    """Share of the pages whose JSON-LD and noscript are not seen, as on a page stripped of them."""
    unlinked: float
    """Share of the pages of which is not seen where their links lead to, and their own address."""
    unaddressed: float
    """Share of the pages whose own address is not seen."""
    least_sites: int
    """Least number of sites on which a token must be met to weigh anything."""

    def __post_init__(self) -> None:
        if self.folds < _LEAST_FOLDS:
            raise ConfigurationError(f"folds must be {_LEAST_FOLDS} or more, not {self.folds}")
        check_seeds([self.seed])


@dataclass(frozen=True, slots=True)
class TreesConfig:
    """Settings of the trees of the second pass, in LightGBM's terms."""

    trees: int
    leaves: int
    bins: int
    learning_rate: float
    columns_share: float
    """Share of the columns that a tree sees."""
    blocks_share: float
    """Share of the blocks that a tree sees."""
    least_blocks: int
    """Least number of blocks of a leaf."""
    l2: float
    threads: int


@dataclass(frozen=True, slots=True)
class AnswerConfig:
    """Answer of both passes together."""

    trees_share: float
    """Share of the trees in the logits of content; the rest is the network's."""
    offset: float
    """Offset of the logits of content, so that they hold on collections that were not learned from."""


@dataclass(frozen=True, slots=True)
class DehuskConfig(RunConfig):
    """Configuration of one training run."""

    kind = "dehusk"
    data: DataConfig
    network: NetworkConfig
    trainer: TrainerConfig
    trees: TreesConfig
    answer: AnswerConfig
    importance: Mapping[str, float]
    """Weight of a page by its collection; 1 where it is not named."""

    @classmethod
    def _from_tables(cls, tables: Tables) -> Self:
        return cls(
            data=DataConfig(**tables["data"]),
            network=NetworkConfig(**tables["network"]),
            trainer=TrainerConfig(**tables["trainer"]),
            trees=TreesConfig(**tables["trees"]),
            answer=AnswerConfig(**tables["answer"]),
            importance=tables["importance"],
        )


DEFAULT_CONFIG = Path(__file__).with_name("dehusk.toml")


def fold_of(site: str, folds: int) -> int:
    """Return the fold that a site belongs to; no other site's pages change it."""
    return zlib.crc32(site.encode()) % 997 % folds
