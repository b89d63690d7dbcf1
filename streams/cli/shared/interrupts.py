"""Ends of commands from outside: by Ctrl-C, SIGTERM, a closed terminal, or a closed pipe."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

import click

from dehusk.schemas.errors import DehuskError
from dehusk.streams.preparation.signals import blocked
from dehusk.streams.wording import pluralize

_interrupted_by = [signal.SIGINT]
"""Signals received so far; the first stands for Ctrl-C, which Python handles itself."""


@contextmanager
def loading() -> Iterator[None]:
    """Import modules within: signals wait, and the garbage collector passes over what stays loaded.

    An interrupt of a compiled module's import could raise anything. The collector would take a tenth of the
    start of a worker.
    """
    with blocked(signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        gc.disable()
        try:
            yield
        finally:
            gc.freeze()
            gc.enable()


def interrupt_on_signals() -> None:
    """Let SIGTERM and a closed terminal interrupt like Ctrl-C, which shells disable in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` has it
            signal.signal(number, _interrupt)


def interrupted_status() -> int:
    """Return the exit status that shells give to a program that a signal ended."""
    return 128 + _interrupted_by[-1]


def report_interruption(pages: int, done: str) -> None:
    """Print the pages done so far on standard error; `done` is e.g. `written`."""
    click.echo(
        f"dehusk: interrupted; {pluralize(pages, 'page')} {'was' if pages == 1 else 'were'} {done}",
        err=True,
    )


def _interrupt(number: int, _frame: FrameType | None) -> None:
    _interrupted_by.append(signal.Signals(number))
    signal.raise_signal(signal.SIGINT)  # to the handler of Ctrl-C, which an event loop replaces


CLOSED_PIPE = 128 + signal.SIGPIPE
"""Exit status of a command whose output nobody reads any more."""


@contextmanager
def exit_at_once_on_errors() -> Iterator[None]:
    """End the process at once on errors, Ctrl-C or a closed output (then silently).

    A thread may still wait for standard input (`streams.files.read_ahead`). Python would then abort with a
    dump of its state if it ended the usual way.
    """
    try:
        yield
    except BrokenPipeError:
        exit_at_once(CLOSED_PIPE)
    except KeyboardInterrupt:
        exit_at_once(interrupted_status())
    except DehuskError as error:
        sys.stderr.write(f"dehusk: {error}\n")
        exit_at_once(1)


def exit_at_once(status: int) -> NoReturn:
    """End the process without waiting for its threads or its output."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(status)
