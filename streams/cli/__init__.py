"""The `dehusk` command."""

import errno
import io
import logging
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache, wraps
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import click

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.schemas.errors import ConfigurationError, DehuskError
from dehusk.streams.cli.shared.configuration import (
    config_option,
    configure,
    leaves,
    name_variables,
    warn_of_unknown_variables,
)
from dehusk.streams.cli.shared.interrupts import (
    CLOSED_PIPE,
    exit_at_once,
    interrupt_on_signals,
    interrupted_status,
)
from dehusk.streams.folders import NO_ROOM
from dehusk.streams.logs import are_json, say_once_without_log
from dehusk.streams.settings import TritonSettings
from dehusk.streams.wording import missing

_OF_OUTPUT = NO_ROOM | {errno.EBADF, errno.EFBIG, errno.EIO}
"""Numbers of the errors of a standard output that cannot be written."""


def version_option(command: click.decorators.FC) -> click.decorators.FC:
    """Add the option `--version`."""
    return click.option(
        "--version",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show,
        help="Show the versions of dehusk, its model, its parser and its runtimes, and exit.",
    )(command)


def _show(context: click.Context, _option: click.Parameter, value: bool) -> None:
    if value:
        model, _ = find_model(DEFAULT_REPOSITORY, TritonSettings().model)
        runs_on = {"selectolax": version("selectolax"), "ONNX Runtime": version("onnxruntime")}
        parts = {"model": f"{model.name}/{model.version}", **runs_on, "Python": platform.python_version()}
        versions = ", ".join(f"{name} {number}" for name, number in parts.items())
        click.echo(f"dehusk {version('dehusk')} ({versions})")
        context.exit()


_COMMANDS = {
    "worker": "Clean the pages of a Kafka topic while the crawl runs.",
    "top": "Watch a group of workers in a terminal.",
    "probe": "Look at a topic before attaching to it.",
    "up": "Start Kafka, Redis and Triton on this machine.",
    "feed": "Put pages from files on the input topic.",
    "read": "Print the documents of the output topic, or write them to files.",
    "clean": "Clean pages offline: HTML, JSON lines, Parquet or web archives in, JSON lines or files out.",
    "inspect": "Show what becomes of each block of a page, and why.",
    "label": "Label the blocks of pages, for training, in a browser.",
    "why": "Say what became of a page.",
    "dead-letters": "List or replay pages that could not be cleaned.",
    "sites": "Show, forget, export or import what is known of sites.",
    "model": "Add versions of a model, try them on a part of the crawl, go back.",
    "demo": "Crawl a real site and clean it while it is crawled.",
}
_log = logging.getLogger(__name__)


class _LazyGroup(click.Group):
    """A group that imports a command's module on use, so that `--help` is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 click's
        return _load(cmd_name) if cmd_name in _COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            for name in get_close_matches(args[0], _COMMANDS, 1):
                error.message += f" Did you mean {name}?"
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 click's
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@cache
def _load(name: str) -> click.Command:
    """Load a command, whose options are also environment variables and keys of a configuration file."""
    command: click.Command = import_module(f"dehusk.streams.cli.{name.replace('-', '_')}").command
    for words, leaf in leaves(command, (name,)):
        name_variables(leaf, words)
        configure(leaf, words)
        leaf.callback = _warned(leaf.callback)
    return command


def _warned(callback: Callable[..., None] | None) -> Callable[..., None] | None:
    """Return the callback with warnings before it, as its options have set the log by then."""
    if callback is None:
        return None

    @wraps(callback)
    def warn_and_call(**values: object) -> None:
        context = click.get_current_context()
        warn_of_unknown_variables(context.find_root().command, context.command)
        callback(**values)

    return warn_and_call


@click.group(
    cls=_LazyGroup,
    params=[config_option()],
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
A configuration file:
  brokers = "kafka-1:9092,kafka-2:9092"   # of every command that has --brokers
  redis = "redis://redis:6379/0"

\b
  [worker]                                # of `dehusk worker` alone
  group = "news"
  page-seconds = 5

\b
  [dead-letters.list]
  limit = 20""",
)
@version_option
def cli(config: Path | None) -> None:
    """Strip the husk off every page of a running crawl: Kafka in, cleaned documents out.

    Every option is also an environment variable and a key of the file that --config names. `--brokers` is
    DEHUSK_BROKERS for every command, DEHUSK_WORKER_BROKERS for `dehusk worker`. What is said of one command
    wins over what is said of all; an option wins over the environment, and that over the file.
    """


def main() -> None:
    """Run the command line; an error of dehusk ends it with its message and status 1."""
    try:
        interrupt_on_signals()
        say_once_without_log()
        _open_streams()
        with _extras_named():
            sys.exit(cli(standalone_mode=False))
    except click.ClickException as error:
        _print_error(error)
        sys.exit(error.exit_code)
    except click.Abort as aborted:
        if not isinstance(aborted.__cause__, KeyboardInterrupt):
            raise  # click raises it for files that end early, too
        sys.exit(interrupted_status())
    except KeyboardInterrupt:
        sys.exit(interrupted_status())
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # click and rich end so if nobody reads
            exit_at_once(CLOSED_PIPE)
        raise
    except DehuskError as error:
        _print_error(error)
        sys.exit(1)
    except OSError as error:
        if error.filename is not None or error.errno not in _OF_OUTPUT:
            raise
        sys.stderr.write(f"dehusk: cannot write the output: {error.strerror}\n")
        exit_at_once(1)


def _open_streams() -> None:
    """Open standard streams that are closed, and have standard input and output wait.

    No other file gets the number of a closed one. Its use fails, but for messages, which are lost. Output has
    a buffer, also with PYTHONUNBUFFERED, as a write without one may leave out the rest.
    """
    for name, mode, other in (
        ("stdin", "r", os.O_WRONLY),
        ("stdout", "w", os.O_RDONLY),
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, other), mode))
    for descriptor in (0, 1):
        os.set_blocking(descriptor, True)
    out = sys.stdout
    if isinstance(out.buffer, io.RawIOBase):
        sys.stdout = os.fdopen(
            out.fileno(), "w", encoding=out.encoding, errors=out.errors, buffering=1, closefd=False
        )


@contextmanager
def _extras_named() -> Iterator[None]:
    """Raise the lack of a module that an extra brings as an error that names it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (message := missing(error)) is None:
            raise
        raise ConfigurationError(message) from error


def _print_error(error: click.ClickException | DehuskError) -> None:
    """Print the error that ends the command, or log it if the log is JSON."""
    if are_json():
        _log.critical(error.format_message() if isinstance(error, click.ClickException) else str(error))
    elif isinstance(error, click.ClickException):
        error.show()
    else:
        click.echo(f"dehusk: {error}", err=True)
