"""Settings that apps of tests are created with."""

from collections.abc import Callable

from dehusk.streams.worker.input.consumer_thread import Hooks


def hooks_of(on_removed: Callable[[int], None] = lambda count: None, rack: str | None = None) -> Hooks:
    """Return hooks that do nothing but note what was removed."""
    return Hooks(lambda: None, lambda: None, lambda: None, on_removed, print, rack=rack)
