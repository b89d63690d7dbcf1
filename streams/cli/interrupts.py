"""How commands are ended from outside: by Ctrl-C, by SIGTERM, or with their terminal."""

import signal
from contextlib import AbstractContextManager
from types import FrameType

import click

from dehusk.streams.counted import counted
from dehusk.streams.signals import blocked

_interrupted_by = [signal.SIGINT]
"""The signals that came; without any it is Ctrl-C, which Python takes itself."""


def interrupts_postponed() -> AbstractContextManager[None]:
    """Hold signals back until the end: an interrupted import of a compiled module raises anything."""
    return blocked(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def interrupt_on_signals() -> None:
    """SIGTERM and a closed terminal interrupt like Ctrl-C, which shells switch off in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` has it
            signal.signal(number, _interrupt)


def interrupted_status() -> int:
    """The exit status that shells give to what a signal ended."""
    return 128 + _interrupted_by[-1]


def tell_interrupted(pages: int, what_became: str) -> None:
    """Say on standard error how far a command came, e.g. with `written`."""
    click.echo(
        f"dehusk: interrupted; {counted(pages, 'page')} {'was' if pages == 1 else 'were'} {what_became}",
        err=True,
    )


def _interrupt(number: int, _frame: FrameType | None) -> None:
    _interrupted_by.append(signal.Signals(number))
    signal.raise_signal(signal.SIGINT)  # to whoever takes Ctrl-C: an event loop takes it more gently
