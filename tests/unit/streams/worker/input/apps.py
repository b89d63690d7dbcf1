"""Apps that read nothing, and what they are created with."""

from collections.abc import Callable

from dehusk.streams.worker.input.app import FaustApp, create_app
from dehusk.streams.worker.input.consumer_thread import Hooks
from dehusk.streams.worker.input.intake import Arrival
from dehusk.streams.worker.input.membership import Membership
from dehusk.streams.worker_settings import WorkerSettings


def hooks_of(on_removed: Callable[[int], None] = lambda count: None, rack: str | None = None) -> Hooks:
    """Return hooks that do nothing but note what was removed."""
    return Hooks(lambda: None, lambda: None, lambda: None, on_removed, print, rack=rack)


async def put(arrival: Arrival) -> None:
    raise AssertionError("nothing is read here")


def idle_app(settings: WorkerSettings, hooks: Hooks | None = None, partitions: int = 8) -> FaustApp:
    """Return an app that is not started."""
    return create_app(settings, partitions, put, hooks or hooks_of(), Membership(6))
