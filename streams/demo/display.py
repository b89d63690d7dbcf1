"""What the demo shows while it runs: a line that changes on a terminal, a line now and then elsewhere."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console

_SECONDS_BETWEEN_LINES = 5.0


class Display:
    """Milestones as lines that stay, and between them how far the demo has come."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("")
        self._printed = 0.0

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._status.stop()

    def milestone(self, text: str) -> None:
        """A line that stays."""
        self._console.print(text, soft_wrap=True)

    def service(self, name: str, doing: str) -> None:
        """What a service of the local stack does; once it is ready, that stays."""
        if doing == "ready":
            self.milestone(f"{name} is ready")
        else:
            self._status.update(f"{name}: {doing}")

    def progress(self, text: str) -> None:
        """How far the demo has come."""
        if self._console.is_terminal:
            self._status.update(text)
        elif time.monotonic() - self._printed >= _SECONDS_BETWEEN_LINES:
            self._printed = time.monotonic()
            self._console.print(text, soft_wrap=True)
