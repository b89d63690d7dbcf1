"""Training of the first pass: token scores out of fold, then the network, epoch by epoch."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from dehusk.schemas.pages import PAGE_KINDS
from dehusk.training.arrays import Floats, Integers
from dehusk.training.batches import epoch_batches
from dehusk.training.dehusk.config import DehuskConfig, TrainerConfig, fold_of
from dehusk.training.dehusk.examples import Example
from dehusk.training.dehusk.first_pass import (
    COLUMNS,
    INPUT_GROUPS,
    INPUTS,
    FirstPass,
    PageLabeler,
    Standard,
    block_inputs,
    steps_of,
)
from dehusk.training.dehusk.token_scores import fit_token_scores
from dehusk.training.learning import Origin, checksum, learn, load_state, restore, save_state, seeded

_UNDECLARED = np.array(["json_ld" in each.name or "noscript" in each.name for each in COLUMNS])
"""Inputs that are nothing on a page stripped of scripts."""
_ADDRESSED = np.array([each.group == "address" for each in COLUMNS])
_LINKED = _ADDRESSED | np.array([each.group == "links" for each in COLUMNS])
_WORD_SCORE = len(COLUMNS)
_MIN_RATE = 0.02
"""Share of the learning rate that it falls to."""
_NO_TYPE = -100
"""Page type that the loss passes over."""


@dataclass(frozen=True, slots=True, eq=False)
class _Page:
    """A page as the network learns from it."""

    raw: Floats
    """Shape [T, INPUTS]: the inputs before they are standardised."""
    labels: Tensor
    """Shape [T, OUTPUTS]."""
    weights: Tensor
    """Shape [T]; sums to 1."""
    importance: float
    page_type: int
    steps: Integers
    """Shape [T]: as `steps_of` gives them."""

    def __len__(self) -> int:
        return len(self.raw)

    def crop(self, first: int, length: int) -> "_Page":
        """Return the `length` blocks from `first` on."""
        part = slice(first, first + length)
        weights = self.weights[part]
        return replace(
            self,
            raw=self.raw[part],
            labels=self.labels[part],
            weights=weights / weights.sum(),
            steps=self.steps[part],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Epoch:
    """State of training after an epoch."""

    number: int
    """Epochs done."""
    loss: float
    """Mean over the epoch's batches."""
    model: FirstPass


def train_first_pass(
    examples: Sequence[Example],
    config: DehuskConfig,
    seed: int,
    without: str | None = None,
    checkpoint: Path | None = None,
) -> Iterator[Epoch]:
    """Yield the first pass after each epoch, from the last checkpoint on; the last epoch comes in any case.

    Inputs of the group `without` are not seen: what they bring shows where they are missing. Which blocks are
    short is known in any case, as it decides on the steps.
    """
    settings = config.trainer
    torch.set_num_threads(settings.threads)
    torch.manual_seed(seed)
    scores = _out_of_fold(examples, settings, seed)
    inputs = [block_inputs(each.structure, score) for each, score in zip(examples, scores, strict=True)]
    standard = Standard.of(inputs).without(np.array(INPUT_GROUPS) == without)
    pages = [_page(each, raw) for each, raw in zip(examples, inputs, strict=True)]
    network = PageLabeler(INPUTS, len(PAGE_KINDS), config.network)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    model = FirstPass(fit_token_scores(examples, settings.least_sites, seed), standard, network)
    origin = Origin(asdict(config.network) | asdict(settings), checksum(_parts(examples)))
    done = 0
    if checkpoint is not None and checkpoint.exists():
        state = load_state(checkpoint, origin)
        restore(state, network, optimizer)
        done = state["epochs"]
        yield Epoch(done, state["loss"], model)
    for epoch in range(done, settings.epochs):
        loss = _epoch(model, optimizer, pages, settings, epoch=epoch, random=seeded(seed, epoch))
        if checkpoint is not None:
            save_state(checkpoint, origin, network, optimizer, epochs=epoch + 1, loss=loss)
        yield Epoch(epoch + 1, loss, model)


def _out_of_fold(examples: Sequence[Example], settings: TrainerConfig, seed: int) -> list[Floats]:
    """Return each page's token scores by regressions over the pages of the other folds."""
    folds = [fold_of(each.site, settings.folds) for each in examples]
    scores: dict[int, Floats] = {}
    for fold in range(settings.folds):
        others = [each for each, its in zip(examples, folds, strict=True) if its != fold]
        fitted = fit_token_scores(others, settings.least_sites, seed)
        scores |= {i: fitted.of(each.structure) for i, each in enumerate(examples) if folds[i] == fold}
    return [scores[i] for i in range(len(examples))]


def _parts(examples: Sequence[Example]) -> Iterator[bytes]:
    """Yield all that is learned from."""
    for each in examples:
        yield from (each.site.encode(), each.page_type.encode())
        tensors = (getattr(each.structure, field.name) for field in fields(each.structure))
        yield from (array.tobytes() for array in (*tensors, each.content, each.comment, each.weights))


def _page(example: Example, raw: Floats) -> _Page:
    return _Page(
        raw=raw,
        labels=torch.from_numpy(np.stack([example.content, example.comment], 1).astype(np.float32)),
        weights=torch.from_numpy(example.weights / example.weights.sum()),
        importance=example.importance,
        page_type=PAGE_KINDS.index(example.page_type) if example.page_type else _NO_TYPE,
        steps=steps_of(example.structure),
    )


def _epoch(
    model: FirstPass,
    optimizer: torch.optim.Optimizer,
    pages: Sequence[_Page],
    settings: TrainerConfig,
    *,
    epoch: int,
    random: np.random.Generator,
) -> float:
    def backward(batch: Sequence[_Page]) -> float:
        loss = _loss(model, batch, settings, random)
        loss.backward()
        return float(loss.detach())

    batches = epoch_batches(pages, settings, random, by_length=True)
    losses = learn(model.network, optimizer, batches, settings, epoch, min_rate=_MIN_RATE, backward=backward)
    return float(np.mean(list(losses)))


def _loss(
    model: FirstPass, batch: Sequence[_Page], settings: TrainerConfig, random: np.random.Generator
) -> Tensor:
    """Return the cross entropy, every page counting the same, its blocks by the root of their words."""
    seen = torch.from_numpy((random.random(INPUTS) >= settings.input_dropout).astype(np.float32))
    inputs = [
        torch.from_numpy(model.standard(_as_found(page.raw, settings, random))) * seen for page in batch
    ]
    logits, page_types = model.network(inputs, [page.steps for page in batch])
    blocks = nn.functional.binary_cross_entropy_with_logits(
        logits,
        torch.cat([page.labels for page in batch]).to(logits.device),
        weight=torch.cat([page.weights * page.importance for page in batch])[:, None].to(logits.device),
        reduction="sum",
    )
    types = torch.tensor([page.page_type for page in batch])
    of_page = nn.functional.cross_entropy(page_types, types, reduction="sum", ignore_index=_NO_TYPE)
    return (blocks + settings.page_type_weight * of_page) / len(batch)


def _as_found(raw: Floats, settings: TrainerConfig, random: np.random.Generator) -> Floats:
    """Return the inputs of a page, at times as if its declarations, words, names or links were not there."""
    found = raw.copy()
    if random.random() < settings.undeclared:
        found[:, :_WORD_SCORE][:, _UNDECLARED] = 0
    if random.random() < settings.blind:
        found[:, _WORD_SCORE] = 0
    if random.random() < settings.nameless:
        found[:, _WORD_SCORE + 1 :] = 0
    if random.random() < settings.unlinked:
        found[:, :_WORD_SCORE][:, _LINKED] = 0
    if random.random() < settings.unaddressed:
        found[:, :_WORD_SCORE][:, _ADDRESSED] = 0
    return found
