"""What training goes on from: a file that is whole at any time, and says of which configuration it is."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.directory import written_whole

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def save_state(file: Path, config: "DataclassInstance", state: dict[str, Any]) -> None:
    """Write the state of a run; the file before it stays whole until this one is."""
    with written_whole(file) as target:
        torch.save({"config": asdict(config), **state}, target)


def load_state(file: Path, config: "DataclassInstance") -> dict[str, Any]:
    """The state that a file holds of a run of this configuration.

    Raises:
        ConfigurationError: it is of another configuration.
    """
    state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    if state["config"] != asdict(config):
        raise ConfigurationError(f"{file} is of another configuration; delete it or name another directory")
    return state
