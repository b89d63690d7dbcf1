"""The first pass of the default model: token scores out of fold, then the network, epoch by epoch."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log1p
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dehusk.inference.features import (
    ADDRESS_FEATURES,
    BLOCK_FEATURES,
    LINK_FEATURES,
    LOGARITHM,
    PAGE_FEATURES,
)
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import PAGE_KINDS, StructureTensors
from dehusk.training.arrays import Bools, Floats, Integers
from dehusk.training.batches import epoch_batches
from dehusk.training.dehusk.config import DehuskConfig, NetworkConfig, TrainerConfig, fold_of
from dehusk.training.dehusk.examples import Example
from dehusk.training.dehusk.token_scores import SCORES, TokenScores, fit_token_scores
from dehusk.training.learning import (
    BidirectionalLayer,
    learn,
    load_state,
    mirror_and_places,
    restore,
    save_state,
    seeded,
)

OUTPUTS = 2
"""Outputs of a block: content, and user comment that is none."""
MAX_INPUT = 5.0
"""Standard deviations from the mean beyond which an input is clipped."""
SCORE_SCALE = 0.5
"""Factor that brings token scores near the other inputs."""
BEYOND_STATES = 9.0
"""Number above any state of an LSTM, by which padding is lowered before the maximum is taken."""
SHORT = round(log1p(8) * 255 / LOGARITHM[1])
"""Largest byte of the first feature of a short block, which has 8 words at most."""
_COLUMNS = (*BLOCK_FEATURES, *LINK_FEATURES, *PAGE_FEATURES, *ADDRESS_FEATURES)
_UNDECLARED = np.array(["json_ld" in each.name or "noscript" in each.name for each in _COLUMNS])
"""Inputs that are nothing on a page stripped of scripts."""
_ADDRESSED = np.array([each.group == "address" for each in _COLUMNS])
_LINKED = _ADDRESSED | np.array([each.group == "links" for each in _COLUMNS])
INPUT_GROUPS = (*(column.group for column in _COLUMNS), *SCORES)
"""Group of each input."""
INPUTS = len(INPUT_GROUPS)
_WORD_SCORE = len(_COLUMNS)
_MIN_RATE = 0.02
"""Share of the learning rate that it falls to."""
_NO_TYPE = -100
"""Page type that the loss passes over."""


def block_inputs(page: StructureTensors, token_scores: Floats) -> Floats:
    """Return the inputs of each block, shape [T, inputs]: its features, the page's, its token scores."""
    return np.concatenate([columns_of(page).astype(np.float32) / 255, token_scores * SCORE_SCALE], 1)


def columns_of(page: StructureTensors) -> npt.NDArray[np.uint8]:
    """Return the features of each block and its link, and of the page and its address, [T, columns]."""
    of_page = np.concatenate([page.page_features, page.address])
    repeated = np.broadcast_to(of_page, (len(page.element), len(of_page)))
    return np.concatenate([page.features, page.links, repeated], 1)


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """Means and deviations by which inputs are standardised, each of shape [inputs]."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, inputs: Sequence[Floats]) -> "Standard":
        """Return those of the blocks of some pages; token scores stay as they are."""
        blocks = np.concatenate(inputs)
        mean, deviation = blocks.mean(0), blocks.std(0) + 0.02
        mean[-len(SCORES) :], deviation[-len(SCORES) :] = 0, 1
        return cls(mean, deviation)

    def without(self, inputs: Bools) -> "Standard":
        """Return a standard by which these inputs are always 0."""
        return Standard(self.mean, np.where(inputs, np.float32(np.inf), self.deviation))

    def __call__(self, inputs: Floats) -> Floats:
        """Standardise inputs."""
        return ((inputs - self.mean) / self.deviation).clip(-MAX_INPUT, MAX_INPUT)


def steps_of(page: StructureTensors) -> Integers:
    """Return the step of the LSTM that reads each block, counted from 0, shape [T].

    Consecutive short blocks whose four innermost elements have the same tags and classes, such as the entries
    of a menu, share a step.
    """
    short = page.features[:, 0] <= SHORT
    apart = np.diff(page.alike, prepend=-1) != 0
    apart |= ~(short & np.concatenate([[False], short[:-1]]))
    steps: Integers = np.cumsum(apart) - 1
    return steps


class PageLabeler(nn.Module):
    """A network that labels the blocks of pages; it also learns the types of pages.

    The LSTM reads the mean of the dense layer over the blocks of a step (`steps_of`).
    """

    def __init__(self, inputs: int, page_types: int, config: NetworkConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, config.dense)
        self.layer = BidirectionalLayer(config.dense, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(6 * config.hidden + config.dense, OUTPUTS)
        self.page_type = nn.Linear(4 * config.hidden, page_types)

    def forward(self, pages: Sequence[Tensor], steps: Sequence[Integers]) -> tuple[Tensor, Tensor]:
        """Return the logits of each block, page after page, and those of each page's type.

        Shapes [T of all pages, OUTPUTS] and [pages, page types].

        Args:
            pages: the standardised inputs of each page's blocks.
            steps: the step of each page's blocks, counted from any number on.
        """
        heights = torch.tensor([int(each[-1] - each[0]) + 1 for each in steps])
        first_steps = torch.cumsum(heights, 0) - heights
        step = torch.cat(
            [torch.from_numpy(each - each[0]) + first for each, first in zip(steps, first_steps, strict=True)]
        )
        dense = torch.relu(self.dense(torch.cat(list(pages)).to(self.dense.weight.device)))
        of_steps = torch.zeros(int(heights.sum()), dense.shape[1], device=dense.device)
        of_steps = of_steps.index_add(0, step.to(dense.device), dense) / torch.bincount(step)[:, None]
        padded = nn.utils.rnn.pad_sequence(self.dropout(of_steps).split(heights.tolist()))
        mirror, places = mirror_and_places(heights)
        states = self.layer(padded, mirror)
        inside = (torch.arange(len(padded))[:, None] < heights)[:, :, None].float()
        mean = (states * inside).sum(0) / inside.sum(0)
        largest = (states - BEYOND_STATES * (1 - inside)).amax(0)
        of_page = torch.cat([mean, largest], 1)
        page = torch.repeat_interleave(torch.arange(len(pages)), torch.tensor([len(each) for each in pages]))
        blocks = torch.cat([states.flatten(0, 1)[places[step]], dense, of_page[page]], 1)
        return self.output(self.dropout(blocks)), self.page_type(of_page)


@dataclass(frozen=True, slots=True, eq=False)
class FirstAnswer:
    """Answer of the first pass to a page's blocks."""

    scores: Floats
    """Shape [T, SCORES]: the token scores."""
    logits: Floats
    """Shape [T]: of content."""
    comment_logits: Floats
    """Shape [T]: of user comments that are no content."""
    kind_logits: Floats
    """Shape [len(PAGE_KINDS)]: of each kind of page."""

    @property
    def probabilities(self) -> Floats:
        """Probabilities of content, shape [T]."""
        return sigmoid(self.logits)

    @property
    def comments(self) -> Floats:
        """Probabilities of user comments, shape [T]."""
        return sigmoid(self.comment_logits)

    @property
    def page_kinds(self) -> Floats:
        """Probabilities of the kinds of page, shape [len(PAGE_KINDS)]."""
        kinds: Floats = torch.softmax(torch.from_numpy(self.kind_logits), 0).numpy()
        return kinds


def sigmoid(logits: Floats) -> Floats:
    """Return the probabilities of logits."""
    probabilities: Floats = torch.sigmoid(torch.from_numpy(logits)).numpy()
    return probabilities


@dataclass(frozen=True, slots=True, eq=False)
class FirstPass:
    """Token scores and the network that reads them."""

    token_scores: TokenScores
    standard: Standard
    network: PageLabeler

    def __call__(self, page: StructureTensors) -> FirstAnswer:
        """Answer a page of at least one block."""
        scores = self.token_scores.of(page)
        inputs = self.standard(block_inputs(page, scores))
        self.network.eval()
        with torch.no_grad():
            logits, of_page = self.network([torch.from_numpy(inputs)], [steps_of(page)])
        content, comments = logits.cpu().numpy().T
        return FirstAnswer(scores, content, comments, of_page.cpu().numpy()[0])


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
    fingerprint = _fingerprint(examples)
    done = 0
    if checkpoint is not None and checkpoint.exists():
        state = load_state(checkpoint, config)
        if state["pages"] != fingerprint:
            raise ConfigurationError(f"{checkpoint} is of other pages; delete it or name another directory")
        restore(state, network, optimizer)
        done = state["epochs"]
        yield Epoch(done, state["loss"], model)
    for epoch in range(done, settings.epochs):
        loss = _epoch(model, optimizer, pages, settings, epoch=epoch, random=seeded(seed, epoch))
        if checkpoint is not None:
            progress = {"pages": fingerprint, "epochs": epoch + 1, "loss": loss}
            save_state(checkpoint, config, network, optimizer, **progress)
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


def _fingerprint(examples: Sequence[Example]) -> int:
    """Return a number that other pages or labels would change."""
    fingerprint = 0
    for each in examples:
        for column in (each.structure.features, each.structure.word_ids, each.content, each.weights):
            fingerprint = zlib.crc32(column.tobytes(), fingerprint)
    return fingerprint


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
