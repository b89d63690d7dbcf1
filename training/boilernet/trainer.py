"""Training of BoilerNet: epochs over cropped pages, with a checkpoint after each to resume from."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from dehusk.inference.labelers.batching import Window, windows
from dehusk.inference.labelers.signature import BLOCK_LENGTHS, IDS, TOKENS
from dehusk.schemas.pages import EncodedPage
from dehusk.training.arrays import Floats
from dehusk.training.batches import epoch_batches
from dehusk.training.boilernet.config import BoilerNetConfig
from dehusk.training.boilernet.evaluation import score_blocks
from dehusk.training.boilernet.labeled_pages import LabeledPage, held_out_pages, training_pages
from dehusk.training.boilernet.network import Blocks, BoilerNet
from dehusk.training.boilernet.vocabulary import Vocabulary, most_frequent
from dehusk.training.learning import (
    Origin,
    checksum,
    learn,
    load_state,
    restore,
    save_state,
    seeded,
    weights_now,
)
from dehusk.training.scores import mean_f1, require_both_classes
from dehusk.training.versions import Answer


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """Epoch that labeled the held-out pages best so far."""

    epochs: int
    """Epochs done when it ended."""
    score: float
    """F1 over held-out blocks, averaged over both classes."""
    weights: dict[str, Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A network under training."""

    config: BoilerNetConfig
    seed: int
    vocabulary: Vocabulary
    network: BoilerNet
    optimizer: torch.optim.Optimizer
    epochs: int
    """Epochs done so far."""
    seconds: float
    """Duration of these epochs."""
    best: Best | None = None
    """None where the last epoch is kept."""


def new_run(config: BoilerNetConfig, vocabulary: Vocabulary, seed: int) -> Run:
    """Begin a run with an untrained network, the same for the same seed."""
    torch.manual_seed(seed)
    network = BoilerNet(len(vocabulary), config.network, vocabulary.ignored_row)
    settings = config.trainer
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, eps=settings.adam_epsilon)
    return Run(config, seed, vocabulary, network, optimizer, epochs=0, seconds=0.0)


def origin_of(config: BoilerNetConfig, pages: Iterable[LabeledPage]) -> Origin:
    """Return what networks of these settings and pages are made from."""
    return Origin(asdict(config), checksum(chain.from_iterable(map(_parts, pages))))


def _parts(page: LabeledPage) -> Iterator[bytes]:
    """Yield all that is learned from."""
    tokens = page.tokens
    yield from (tokens.ids.tobytes(), tokens.block_lengths.tobytes(), bytes(page.content))
    yield from (page.site.encode(), bytes([page.validation]))


def save(run: Run, origin: Origin, file: Path) -> None:
    """Write the checkpoint of a run."""
    save_state(
        file,
        origin,
        run.network,
        run.optimizer,
        seed=run.seed,
        vocabulary=asdict(run.vocabulary),
        epochs=run.epochs,
        seconds=run.seconds,
        best=run.best and asdict(run.best),
    )


def load(file: Path, config: BoilerNetConfig, origin: Origin) -> Run:
    """Load the checkpoint of a run of this configuration and origin."""
    state = load_state(file, origin)
    run = new_run(config, Vocabulary(**state["vocabulary"]), state["seed"])
    restore(state, run.network, run.optimizer)
    best = state["best"] and Best(**state["best"])
    return replace(run, epochs=state["epochs"], seconds=state["seconds"], best=best)


def load_trained(file: Path, config: BoilerNetConfig, origin: Origin) -> Run:
    """Load a run with the network that it gave: its best epoch's, or the last's."""
    run = load(file, config, origin)
    if run.best is not None:
        run.network.load_state_dict(run.best.weights)
    return run


def network_answer(run: Run) -> Answer:
    """Return the answers of the network in the training framework, in the windows that labelers cut."""
    run.network.eval()

    def answer(page: EncodedPage) -> Floats:
        with torch.inference_mode():
            logits = [run.network([_blocks(run, window)]) for window in windows(page, TOKENS)]
            probabilities: Floats = torch.sigmoid(torch.cat(logits)).cpu().numpy()
        return probabilities

    return answer


def _blocks(run: Run, window: Window) -> Blocks:
    rows = run.vocabulary.rows(window.tensors[IDS.name])
    lengths = window.tensors[BLOCK_LENGTHS.name].astype(np.int64)
    return Blocks(torch.from_numpy(rows), torch.from_numpy(lengths))


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """Consecutive blocks of a page with their labels."""

    blocks: Blocks
    content: Tensor
    """Shape [blocks], float32: 1 where a block is content."""

    def __len__(self) -> int:
        return len(self.blocks)

    def crop(self, first: int, length: int) -> "Example":
        """Return the `length` blocks from `first` on."""
        lengths = self.blocks.lengths
        skipped = int(lengths[:first].sum())
        taken = int(lengths[first : first + length].sum())
        rows = self.blocks.rows[skipped : skipped + taken]
        return Example(Blocks(rows, lengths[first : first + length]), self.content[first : first + length])


def example(page: LabeledPage, vocabulary: Vocabulary) -> Example:
    """Encode a labeled page as a worker encodes it."""
    tokens = page.tokens
    blocks = Blocks(
        torch.from_numpy(vocabulary.rows(tokens.ids)),
        torch.from_numpy(tokens.block_lengths.astype(np.int64)),
    )
    return Example(blocks, torch.tensor(page.content, dtype=torch.float32))


def class_weights(examples: Sequence[Example]) -> tuple[float, float]:
    """Return the weights of boilerplate and content that make both count the same in the loss."""
    blocks = sum(len(each) for each in examples)
    content = sum(float(each.content.sum()) for each in examples)
    return blocks / 2 / (blocks - content), blocks / 2 / content


def parts(batch: Sequence[Example]) -> list[list[Example]]:
    """Split a batch so that the shortest page of a part has at least half the blocks of the longest."""
    made: list[list[Example]] = []
    for page in sorted(batch, key=len, reverse=True):
        if made and 2 * len(page) >= len(made[-1][0]):
            made[-1].append(page)
        else:
            made.append([page])
    return made


def train_boilernet(pages: Sequence[LabeledPage], config: BoilerNetConfig, seed: int, file: Path) -> Run:
    """Train all epochs of a seed, from the checkpoint in `file` on where there is one.

    Raises:
        ConfigurationError: the checkpoint is of another origin, there is nothing to learn from, or nothing is
            held out to choose by.
    """
    torch.set_num_threads(config.trainer.threads)
    kept = training_pages(pages, config.data)
    require_both_classes([page.content for page in kept], "to learn from")
    origin = origin_of(config, pages)
    run = load(file, config, origin) if file.exists() else _started(kept, config, seed)
    examples = [example(page, run.vocabulary) for page in kept]
    held_out = held_out_pages(pages, config.data)
    with _progress() as progress:
        for epoch in range(run.epochs, config.trainer.epochs):
            began = time.monotonic()
            loss = _epoch(run, epoch, examples, progress)
            progress.console.print(f"epoch {epoch + 1}/{config.trainer.epochs}: loss {loss:.3f}")
            run = replace(run, epochs=epoch + 1, seconds=run.seconds + time.monotonic() - began)
            if config.trainer.best_epoch:
                score = mean_f1(score_blocks(held_out, network_answer(run)))
                progress.console.print(f"epoch {run.epochs}: F1 {score:.3f} over held-out blocks")
                run = _compared(run, score)
            save(run, origin, file)
    return run


def _compared(run: Run, score: float) -> Run:
    """Keep the last epoch as the best, if none before it has such a score."""
    if run.best is not None and score <= run.best.score:
        return run
    return replace(run, best=Best(run.epochs, score, weights_now(run.network)))


def _started(pages: Sequence[LabeledPage], config: BoilerNetConfig, seed: int) -> Run:
    network = config.network
    vocabulary = most_frequent(
        (page.segmented for page in pages),
        network.tags,
        network.words,
        punctuation=network.punctuation,
        separate_unknown=network.separate_unknown,
    )
    return new_run(config, vocabulary, seed)


def _epoch(run: Run, epoch: int, examples: Sequence[Example], progress: Progress) -> float:
    """Pass once over the pages, with the seed's and the epoch's randomness alone; return the last loss."""
    settings = run.config.trainer
    weights = class_weights(examples) if settings.class_weights else (1.0, 1.0)
    random = seeded(run.seed, epoch)
    batches = epoch_batches(examples, settings, random, by_length=settings.by_length)
    task = progress.add_task(f"epoch {epoch + 1}/{settings.epochs}", total=len(batches), loss=0.0)
    losses = learn(
        run.network,
        run.optimizer,
        batches,
        settings,
        epoch,
        min_rate=0.0 if settings.decay else 1.0,
        backward=partial(_backward, run, weights),
    )
    for loss in losses:
        progress.update(task, advance=1, loss=loss)
    progress.remove_task(task)
    return loss


def _backward(run: Run, weights: tuple[float, float], batch: Sequence[Example]) -> float:
    """Return the loss of a batch, and add up its gradients part by part."""
    blocks = sum(map(len, batch))
    total = 0.0
    for part in parts(batch):
        content = torch.cat([each.content for each in part])
        logits = run.network([each.blocks for each in part])
        loss = _loss(logits, content.to(logits.device), weights) / blocks
        loss.backward()
        total += float(loss.detach())
    return total


def _loss(logits: Tensor, content: Tensor, weights: tuple[float, float]) -> Tensor:
    """Return the weighted binary cross entropy, summed over the blocks."""
    boilerplate_weight, content_weight = weights
    weight = torch.where(content > 0, content_weight, boilerplate_weight)
    return nn.functional.binary_cross_entropy_with_logits(logits, content, weight=weight, reduction="sum")


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.3f}"),
        TimeRemainingColumn(),
    )
