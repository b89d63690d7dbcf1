"""Blocking of signals."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def blocked(*signals: signal.Signals) -> Iterator[None]:
    """Block signals until the end; processes that are started meanwhile inherit the mask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
