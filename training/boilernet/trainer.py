"""Training: epochs over cropped pages, a checkpoint after each, resumed where it stopped."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from dehusk.inference.encoding import encode
from dehusk.training.batches import epoch_batches
from dehusk.training.boilernet.block_scores import mean_f1, score_blocks
from dehusk.training.boilernet.checkpoint import Best, Run, load, new_run, save
from dehusk.training.boilernet.config import BoilerNetConfig
from dehusk.training.boilernet.examples import Example, class_weights, example, parts
from dehusk.training.boilernet.model import network_predict
from dehusk.training.boilernet.pages import LabeledPage, held_out_pages, training_pages
from dehusk.training.boilernet.vocabulary import most_frequent
from dehusk.training.learning import learn, seeded
from dehusk.training.predictor import Floats

SCORED_EPOCHS = 3
"""So many of the last epochs are scored where none is chosen by its score."""


def train_boilernet(pages: Sequence[LabeledPage], config: BoilerNetConfig, seed: int, file: Path) -> Run:
    """The run of a seed after all its epochs; goes on from the checkpoint in `file` where there is one.

    Raises:
        ConfigurationError: the checkpoint is of another configuration, or nothing is held out to choose by.
    """
    torch.set_num_threads(config.trainer.threads)
    kept = training_pages(pages, config.data)
    run = load(file, config) if file.exists() else _started(kept, config, seed)
    examples = [example(page, run.vocabulary) for page in kept]
    held_out = held_out_pages(pages, config.data)
    with _progress() as progress:
        for epoch in range(run.epochs, config.trainer.epochs):
            began = time.monotonic()
            loss = _epoch(run, epoch, examples, progress)
            progress.console.print(f"epoch {epoch + 1}/{config.trainer.epochs}: loss {loss:.3f}")
            run = replace(run, epochs=epoch + 1, seconds=run.seconds + time.monotonic() - began)
            if config.trainer.best_epoch:
                score = mean_f1(score_blocks(held_out, network_predict(run)))
                progress.console.print(f"epoch {run.epochs}: F1 {score:.3f} over held-out blocks")
                run = _compared(run, score)
            save(run, file)
    return run


def scored_epochs(
    learned: Sequence[LabeledPage], held_out: Sequence[LabeledPage], config: BoilerNetConfig, seed: int
) -> Iterator[list[Floats]]:
    """The answers to held-out pages after each of the last epochs, by a network that learned from others."""
    torch.set_num_threads(config.trainer.threads)
    run = _started(learned, config, seed)
    examples = [example(page, run.vocabulary) for page in learned]
    encoded = [encode(page.segmented) for page in held_out]
    with _progress() as progress:
        for epoch in range(config.trainer.epochs):
            _epoch(run, epoch, examples, progress)
            if epoch >= config.trainer.epochs - SCORED_EPOCHS:
                yield [network_predict(run)(page) for page in encoded]


def _compared(run: Run, score: float) -> Run:
    """The run with its last epoch as the best, if none before it has such a score."""
    if run.best is not None and score <= run.best.score:
        return run
    weights = {name: value.clone() for name, value in run.network.state_dict().items()}
    return replace(run, best=Best(run.epochs, score, weights))


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
    """One pass over the pages, whose randomness is the seed's and the epoch's alone; its last loss."""
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
        least_rate=0.0 if settings.decay else 1.0,
        backward=partial(_backward, run, weights),
    )
    for loss in losses:
        progress.update(task, advance=1, loss=loss)
    progress.remove_task(task)
    return loss


def _backward(run: Run, weights: tuple[float, float], batch: Sequence[Example]) -> float:
    """The loss of a batch, whose gradients are added up part by part."""
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
    """Weighted binary cross entropy, summed over the blocks."""
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
