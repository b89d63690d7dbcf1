"""Configuration of a training run of Web2Text, read from a small TOML file, and its parts of the pages."""

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from dehusk.training.pages.prepared import PreparedPage
from dehusk.training.runs import RunConfig, Tables, check_seeds


@dataclass(frozen=True, slots=True)
class DataConfig:
    """Labeling of pages, and choice of those that are learned from and held out."""

    held_out: float
    """Share of the sites that models are scored on."""
    validation: float
    """Share of the sites that the iteration is chosen by."""
    content_share: float
    """Share of a block's words that must be aligned for it to be content (§4.1)."""
    least_oracle: float
    """Least F1 of the gold text by the aligned blocks; other pages are not trained on."""
    most_of_a_site: int
    """Pages of one site that are learned from."""


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """Sizes of both networks, which have the same but for their inputs and outputs."""

    filters: tuple[int, ...]
    """Filters of each layer but the last."""
    kernels: tuple[int, ...]
    """Blocks that a filter of each layer sees: 1 or 3."""
    dropout: float
    coupling: float
    """The paper's lambda: weight of the pairwise potentials relative to the unary ones."""


@dataclass(frozen=True, slots=True)
class TrainerConfig:
    """Settings of the networks' training."""

    seeds: tuple[int, ...]
    """Seeds from each of which a model is trained; the one whose score is the median is published."""
    iterations: int
    batch_excerpts: int
    excerpt_blocks: int
    learning_rate: float
    weight_decay: float
    validate_every: int
    """Iterations between two looks at the validation error."""
    threads: int

    def __post_init__(self) -> None:
        check_seeds(self.seeds)


@dataclass(frozen=True, slots=True)
class Web2TextConfig(RunConfig):
    """Configuration of one training run."""

    kind = "web2text"
    data: DataConfig
    network: NetworkConfig
    trainer: TrainerConfig

    @classmethod
    def _from_tables(cls, tables: Tables) -> Self:
        network, trainer = tables["network"], tables["trainer"]
        return cls(
            data=DataConfig(**tables["data"]),
            network=NetworkConfig(
                **network | {name: tuple(network[name]) for name in ("filters", "kernels")}
            ),
            trainer=TrainerConfig(**trainer | {"seeds": tuple(trainer["seeds"])}),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Parts of the prepared pages, no site in two of them."""

    learned: list[PreparedPage] = field(default_factory=list)
    validated: list[PreparedPage] = field(default_factory=list)
    held_out: list[PreparedPage] = field(default_factory=list)
    """All that have a gold text, good or not."""


def split(pages: Iterable[PreparedPage], config: DataConfig) -> Split:
    """Split the pages by the names of their sites, so that no other site's pages change a part.

    The first two have the pages that can be learned from, so many of a site.
    """
    parts, taken = Split(), Counter[str]()
    for page in pages:
        if page.altered:
            continue
        place = zlib.crc32(page.site.encode()) % 1000 / 1000
        if place < config.held_out:
            if page.has_gold:
                parts.held_out.append(page)
        elif page.reliable and len(page.content) and taken[page.site] < config.most_of_a_site:
            taken[page.site] += 1
            is_validated = place < config.held_out + config.validation
            (parts.validated if is_validated else parts.learned).append(page)
    return parts
