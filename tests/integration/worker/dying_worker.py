"""`dehusk worker` that is killed at one moment of a second cleaning: a program of the tests alone."""

import os
import signal
from collections.abc import Callable
from typing import Any

from dehusk.streams.cli import worker
from dehusk.streams.sites.revisits import FirstPages


def dying(name: str, when: str) -> Callable[..., Any]:
    """The method of `FirstPages`, which the worker does not survive if it has, or finds, something to do."""
    method = getattr(FirstPages, name)

    async def call(self: FirstPages, pages: Any) -> Any:
        if when == "before" and list(pages):
            os.kill(os.getpid(), signal.SIGKILL)
        answer = await method(self, pages)
        if when == "after" and (answer or (answer is None and list(pages))):
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    return call


if __name__ == "__main__":
    when, name = os.environ["DIES"].split()
    setattr(FirstPages, name, dying(name, when))
    worker.command(auto_envvar_prefix="DEHUSK_WORKER")
