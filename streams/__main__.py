"""Start of the `dehusk` command, which loads as little as possible before it handles Ctrl-C."""

import os
import signal
from types import FrameType


def main() -> None:
    """Run the command line; Ctrl-C while its modules load ends it silently."""
    signal.signal(signal.SIGINT, _end)
    from dehusk.streams.cli import main

    main()


def _end(number: int, _frame: FrameType | None) -> None:
    os._exit(128 + number)


if __name__ == "__main__":
    main()
