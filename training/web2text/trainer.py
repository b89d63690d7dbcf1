"""Training of one of the two networks (§4.2): excerpts of pages, and the weights with the lowest error."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from dehusk.schemas.pages import Web2TextTensors
from dehusk.training.learning import (
    Origin,
    checksum,
    load_state,
    restore,
    save_state,
    seeded,
    weights_now,
)
from dehusk.training.pages.prepared import PreparedPage
from dehusk.training.runs import Report
from dehusk.training.web2text.config import Split, Web2TextConfig
from dehusk.training.web2text.model import (
    Excerpts,
    Potentials,
    Sequences,
    Standard,
    device_of,
    new_network,
    tensors_of,
)


@dataclass(slots=True, eq=False)
class Run:
    """A network under training, and the weights with the lowest validation error so far."""

    config: Web2TextConfig
    origin: Origin
    seed: int
    standard: Standard
    network: Potentials
    optimizer: torch.optim.Optimizer
    iterations: int = 0
    error: float = float("inf")
    """Lowest share of a validation page's labels that were wrong."""
    best_iterations: int = 0
    best: dict[str, Tensor] | None = None

    def save(self, file: Path) -> None:
        """Write the state."""
        save_state(
            file,
            self.origin,
            self.network,
            self.optimizer,
            seed=self.seed,
            mean=torch.from_numpy(self.standard.mean),
            deviation=torch.from_numpy(self.standard.deviation),
            iterations=self.iterations,
            error=self.error,
            best_iterations=self.best_iterations,
            best=self.best,
        )

    def trained(self) -> Potentials:
        """Return the network with the weights of the lowest error."""
        if self.best is not None:
            self.network.load_state_dict(self.best)
        return self.network


def origin_of(config: Web2TextConfig, parts: Split) -> Origin:
    """Return what networks of these settings and pages are made from."""
    pages = (*parts.learned, *parts.validated)
    return Origin(asdict(config), checksum(chain(*map(_bytes_of, pages), [len(parts.learned).to_bytes(8)])))


def _bytes_of(page: PreparedPage) -> Iterator[bytes]:
    """Yield all that is learned from."""
    tensors = (getattr(tensors_of(page), field.name) for field in fields(Web2TextTensors))
    yield from (array.tobytes() for array in (*tensors, page.content, page.uncertain))


def new_run(
    network: Potentials, standard: Standard, config: Web2TextConfig, origin: Origin, seed: int
) -> Run:
    """Begin a run with a network before its first iteration."""
    settings = config.trainer
    kernels = [layer.weight for layer in network.layers]
    biases = [layer.bias for layer in network.layers]
    groups = [{"params": kernels, "weight_decay": settings.weight_decay}, {"params": biases}]
    return Run(config, origin, seed, standard, network, torch.optim.Adam(groups, lr=settings.learning_rate))


def load(file: Path, kind: str, config: Web2TextConfig, origin: Origin) -> Run:
    """Load the run of this configuration and origin that a file holds."""
    state = load_state(file, origin)
    standard = Standard(state["mean"].numpy(), state["deviation"].numpy())
    seed = state["seed"]
    run = new_run(new_network(kind, config.network, seed), standard, config, origin, seed)
    restore(state, run.network, run.optimizer)
    for name in ("iterations", "error", "best_iterations", "best"):
        setattr(run, name, state[name])
    return run


def train_network(
    run: Run, learned: Sequences, validated: Sequences, file: Path, report: Report, *, length: int
) -> None:
    """Train on to the last iteration, with excerpts of this length.

    A checkpoint is left whenever the validation error was looked at.
    """
    settings = run.config.trainer
    torch.set_num_threads(settings.threads)
    while run.iterations < settings.iterations:
        random = seeded(run.seed, run.iterations)
        for _ in range(min(settings.validate_every, settings.iterations - run.iterations)):
            batch = learned.excerpts(run.standard, settings.batch_excerpts, length, random)
            _step(run, batch)
            run.iterations += 1
        error = validation_error(run.network, run.standard, validated)
        if error < run.error:
            run.error, run.best_iterations = error, run.iterations
            run.best = weights_now(run.network)
        run.save(file)
        report(f"seed {run.seed}, iteration {run.iterations}: validation error {error:.4f}")


def _step(run: Run, batch: Excerpts) -> None:
    """Update the weights by the cross entropy of excerpts, every label counting the same."""
    run.network.train()
    run.optimizer.zero_grad()
    device = device_of(run.network)
    labels, weights = batch.labels.to(device).flatten(), batch.weights.to(device).flatten()
    logits = run.network(batch.rows.to(device))
    losses = nn.functional.cross_entropy(logits.flatten(0, 1), labels, reduction="none")
    loss = (losses * weights).sum() / weights.sum().clamp(min=1)
    loss.backward()
    run.optimizer.step()


def validation_error(network: Potentials, standard: Standard, sequences: Sequences) -> float:
    """Return the share of a sequence's labels that are wrong, the mean over all, of whatever length."""
    network.eval()
    shares: list[float] = []
    ends = np.cumsum(sequences.lengths)
    with torch.inference_mode():
        for first, end in zip(sequences.starts, ends, strict=True):
            rows = standard(sequences.rows[first:end].astype(np.float32))
            found = network(torch.from_numpy(rows)[None].to(device_of(network)))[0].argmax(1).cpu().numpy()
            certain = sequences.certain[first:end]
            wrong = (found != sequences.labels[first:end]) & certain
            shares.append(wrong.sum() / max(certain.sum(), 1))
    return float(np.mean(shares))
