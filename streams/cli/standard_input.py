"""Leaving a command whose standard input may not have ended."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from dehusk.schemas.errors import DehuskError
from dehusk.streams.cli.interrupts import interrupted_status

CLOSED_PIPE = 128 + signal.SIGPIPE
"""The exit status of a command whose output nobody reads any more."""


@contextmanager
def abandoned_on_errors() -> Iterator[None]:
    """Ends the process at once on errors, Ctrl-C, or when nobody reads its output any more (then silently).

    A thread may still wait for standard input (see `streams.read_ahead`), and Python aborts, with a dump of
    its state, when it leaves the usual way meanwhile.
    """
    try:
        yield
    except BrokenPipeError:
        leave(CLOSED_PIPE)
    except KeyboardInterrupt:
        leave(interrupted_status())
    except DehuskError as error:
        sys.stderr.write(f"dehusk: {error}\n")
        leave(1)


def leave(status: int) -> NoReturn:
    """End the process at once, whatever its threads wait for and its output will not take."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(status)
