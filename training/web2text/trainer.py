"""Training of one of the two networks (§4.2): excerpts of pages, and the weights with the lowest error."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from dehusk.training.learning import load_state, restore, save_state, seeded, weights_now
from dehusk.training.runs import Report
from dehusk.training.web2text.config import Web2TextConfig
from dehusk.training.web2text.model import Excerpts, Potentials, Sequences, Standard, new_network


@dataclass(slots=True, eq=False)
class Run:
    """A network under training, and the weights with the lowest validation error so far."""

    config: Web2TextConfig
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
            self.config,
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


def new_run(network: Potentials, standard: Standard, config: Web2TextConfig, seed: int) -> Run:
    """Begin a run with a network before its first iteration."""
    settings = config.trainer
    kernels = [layer.weight for layer in network.layers]
    biases = [layer.bias for layer in network.layers]
    groups = [{"params": kernels, "weight_decay": settings.weight_decay}, {"params": biases}]
    return Run(config, seed, standard, network, torch.optim.Adam(groups, lr=settings.learning_rate))


def load(file: Path, kind: str, config: Web2TextConfig) -> Run:
    """Load the run of this configuration that a file holds."""
    state = load_state(file, config)
    standard = Standard(state["mean"].numpy(), state["deviation"].numpy())
    run = new_run(new_network(kind, config.network, state["seed"]), standard, config, state["seed"])
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
    logits = run.network(batch.rows)
    losses = nn.functional.cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), reduction="none")
    loss = (losses * batch.weights.flatten()).sum() / batch.weights.sum().clamp(min=1)
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
            found = network(torch.from_numpy(rows)[None])[0].argmax(1).numpy()
            certain = sequences.certain[first:end]
            wrong = (found != sequences.labels[first:end]) & certain
            shares.append(wrong.sum() / max(certain.sum(), 1))
    return float(np.mean(shares))
