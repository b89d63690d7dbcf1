"""Training of the default model's first pass: token scores out of fold, then the network, epoch by epoch."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dehusk.inference.features import BLOCK_FEATURES, PAGE_FEATURES
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import StructureTensors
from dehusk.training.batches import epoch_batches
from dehusk.training.checkpoint import load_state, save_state
from dehusk.training.dehusk.config import DehuskConfig, TrainerConfig
from dehusk.training.dehusk.examples import Example
from dehusk.training.dehusk.network import PageLabeler, Standard, block_inputs
from dehusk.training.dehusk.parts import fold_of
from dehusk.training.dehusk.token_scores import SCORES, TokenScores, fit_token_scores
from dehusk.training.learning import learn, seeded

Floats = npt.NDArray[np.float32]

_COLUMNS = (*BLOCK_FEATURES, *PAGE_FEATURES)
_UNDECLARED = np.array(["json_ld" in each.name or "noscript" in each.name for each in _COLUMNS])
"""Inputs that are nothing on a page stripped of scripts."""
_WORD_SCORE = len(_COLUMNS)
INPUT_GROUPS = (*(column.group for column in _COLUMNS), *SCORES)
"""The group of each input."""
INPUTS = len(INPUT_GROUPS)
_LEAST_RATE = 0.02
"""The share of the learning rate that it falls to."""
_NO_TYPE = -100
"""What the loss passes over."""
PAGE_TYPES = ("article", "collection", "documentation", "forum", "listing", "product", "service")


@dataclass(frozen=True, slots=True, eq=False)
class FirstAnswer:
    """What the first pass says of a page's blocks."""

    scores: Floats
    """Shape [T, SCORES]: the token scores."""
    logits: Floats
    """Shape [T]: of content."""
    comment_logits: Floats
    """Shape [T]: of user comments that are no content."""

    @property
    def probabilities(self) -> Floats:
        """Shape [T]: of content."""
        return sigmoid(self.logits)

    @property
    def comments(self) -> Floats:
        """Shape [T]: the probabilities of user comments."""
        return sigmoid(self.comment_logits)


def sigmoid(logits: Floats) -> Floats:
    """The probabilities of logits."""
    probabilities: Floats = torch.sigmoid(torch.from_numpy(logits)).numpy()
    return probabilities


@dataclass(frozen=True, slots=True, eq=False)
class FirstPass:
    """The token scores and the network that reads them."""

    token_scores: TokenScores
    standard: Standard
    network: PageLabeler

    def __call__(self, page: StructureTensors) -> FirstAnswer:
        """The answer to a page of one block at least."""
        scores = self.token_scores.of(page)
        inputs = self.standard(block_inputs(page, scores))
        self.network.eval()
        with torch.no_grad():
            logits, _ = self.network([torch.from_numpy(inputs)])
        content, comments = logits.cpu().numpy().T
        return FirstAnswer(scores, content, comments)


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

    def __len__(self) -> int:
        return len(self.raw)

    def crop(self, first: int, length: int) -> "_Page":
        """The `length` blocks from `first` on."""
        part = slice(first, first + length)
        weights = self.weights[part]
        return _Page(
            self.raw[part], self.labels[part], weights / weights.sum(), self.importance, self.page_type
        )


@dataclass(frozen=True, slots=True, eq=False)
class Epoch:
    """Where training stands after an epoch."""

    number: int
    """Epochs done."""
    loss: float
    """The mean over the epoch's batches."""
    model: FirstPass


def train_first_pass(
    examples: Sequence[Example],
    config: DehuskConfig,
    seed: int,
    without: str | None = None,
    checkpoint: Path | None = None,
) -> Iterator[Epoch]:
    """The first pass after each epoch, from the last checkpoint on where one is; the last comes in any case.

    Inputs of the group `without` are not seen: what they bring shows where they are missing.
    """
    settings = config.trainer
    torch.set_num_threads(settings.threads)
    torch.manual_seed(seed)
    scores = _out_of_fold(examples, settings, seed)
    inputs = [block_inputs(each.structure, score) for each, score in zip(examples, scores, strict=True)]
    standard = Standard.of(inputs).without(np.array(INPUT_GROUPS) == without)
    pages = [_page(each, raw) for each, raw in zip(examples, inputs, strict=True)]
    network = PageLabeler(INPUTS, len(PAGE_TYPES), config.network)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    model = FirstPass(fit_token_scores(examples, settings.least_sites, seed), standard, network)
    state = _State(config, _fingerprint(examples), network, optimizer, 0, float("nan"))
    if checkpoint is not None and checkpoint.exists():
        state.load(checkpoint)
        yield Epoch(state.epochs, state.loss, model)
    for epoch in range(state.epochs, settings.epochs):
        state.loss = _epoch(model, optimizer, pages, settings, epoch=epoch, random=seeded(seed, epoch))
        state.epochs = epoch + 1
        if checkpoint is not None:
            state.save(checkpoint)
        yield Epoch(state.epochs, state.loss, model)


@dataclass(slots=True, eq=False)
class _State:
    """What a checkpoint keeps."""

    config: DehuskConfig
    pages: int
    """Their fingerprint."""
    network: PageLabeler
    optimizer: torch.optim.Optimizer
    epochs: int
    loss: float

    def save(self, file: Path) -> None:
        """Write the state."""
        state = {
            "pages": self.pages,
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "epochs": self.epochs,
            "loss": self.loss,
        }
        save_state(file, self.config, state)

    def load(self, file: Path) -> None:
        """Go on from the state in a file.

        Raises:
            ConfigurationError: it is of another configuration, or of other pages.
        """
        state = load_state(file, self.config)
        if state["pages"] != self.pages:
            raise ConfigurationError(f"{file} is of other pages; delete it or name another directory")
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epochs, self.loss = state["epochs"], state["loss"]


def _out_of_fold(examples: Sequence[Example], settings: TrainerConfig, seed: int) -> list[Floats]:
    """Each page's token scores by regressions over the pages of the other folds."""
    folds = [fold_of(each.site, settings.folds) for each in examples]
    scores: dict[int, Floats] = {}
    for fold in range(settings.folds):
        others = [each for each, its in zip(examples, folds, strict=True) if its != fold]
        fitted = fit_token_scores(others, settings.least_sites, seed)
        scores |= {i: fitted.of(each.structure) for i, each in enumerate(examples) if folds[i] == fold}
    return [scores[i] for i in range(len(examples))]


def _fingerprint(examples: Sequence[Example]) -> int:
    """A number that other pages or labels would change."""
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
        page_type=PAGE_TYPES.index(example.page_type) if example.page_type else _NO_TYPE,
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
    losses = learn(
        model.network, optimizer, batches, settings, epoch, least_rate=_LEAST_RATE, backward=backward
    )
    return float(np.mean(list(losses)))


def _loss(
    model: FirstPass, batch: Sequence[_Page], settings: TrainerConfig, random: np.random.Generator
) -> Tensor:
    """Cross entropy, every page counting the same, its blocks by the root of their words."""
    seen = torch.from_numpy((random.random(INPUTS) >= settings.input_dropout).astype(np.float32))
    inputs = [
        torch.from_numpy(model.standard(_as_found(page.raw, settings, random))) * seen for page in batch
    ]
    logits, page_types = model.network(inputs)
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
    """The inputs of a page, at times as if it were stripped of scripts or in an unknown language."""
    found = raw.copy()
    if random.random() < settings.undeclared:
        found[:, :_WORD_SCORE][:, _UNDECLARED] = 0
    if random.random() < settings.blind:
        found[:, _WORD_SCORE] = 0
    return found
