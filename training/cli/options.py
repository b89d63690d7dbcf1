"""Options that several commands of `python -m training` have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.training.dehusk.config import DEFAULT_CONFIG

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

directory_option = click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder of prepared pages, checkpoint and scores.",
)
config_option = click.option(
    "--config",
    type=FILE,
    default=DEFAULT_CONFIG,
    help="The settings of the run.  [training/dehusk/dehusk.toml]",
)


def _use_device(_context: click.Context, _option: click.Parameter, name: str) -> None:
    """Make the networks from here on on a device."""
    if name != "cpu":
        import torch  # noqa: PLC0415 -- only where networks are made

        try:
            torch.zeros(1, device=name)
        except (RuntimeError, AssertionError) as error:
            raise click.BadParameter(f"{name}: {str(error).splitlines()[0]}") from error
        torch.set_default_device(name)


device_option = click.option(
    "--device",
    default="cpu",
    show_default=True,
    metavar="NAME",
    expose_value=False,
    callback=_use_device,
    help="Device on which networks are trained, as PyTorch names it: cpu, cuda, cuda:1.",
)
model_option = click.option("--model", help="The model's name.  [that of the file with the settings]")
repository_option = click.option(
    "--repository",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_REPOSITORY,
    help="The model repository.  [model_repository]",
)
processes_option = click.option(
    "--processes",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Read so many pages at once.",
)
files_argument = click.argument("files", type=FILE, nargs=-1, required=True)
version_option = click.option(
    "--version", type=click.IntRange(1), required=True, help="The new version's number."
)


def output_option(default: Path, text: str) -> Callable[[Command], Command]:
    """Return the option of the file that a command writes, and its help."""
    file = click.Path(dir_okay=False, path_type=Path)
    return click.option("--output", type=file, default=default, help=text)


class OrderOfUse(click.Group):
    """A group whose help lists the commands in the order in which they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's signature
        """Return the names of the commands."""
        return list(self.commands)
