"""Start of the `dehusk` command, which loads as little as possible before it handles Ctrl-C."""

import atexit
import gc
import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line; Ctrl-C while its modules load ends it silently."""
    signal.signal(signal.SIGINT, _end)
    atexit.register(gc.freeze)  # the last search for cycles, in all that is loaded, takes a tenth of a second
    try:
        from dehusk.streams.cli import main
    except ModuleNotFoundError as error:
        sys.exit(_describe(error))
    main()


def _describe(error: ModuleNotFoundError) -> str:
    """Return the line that ends the command without the modules of commands; raise any other error again."""
    from dehusk.streams.wording import missing

    message = missing(error)
    if message is None:
        raise error
    return f"dehusk: {message}"


def _end(number: int, _frame: FrameType | None) -> None:
    os._exit(128 + number)


if __name__ == "__main__":
    main()
