"""End of the processes that `dehusk.arrow` keeps for the next batch: tests of others count processes, too."""

import dehusk.arrow


def end_kept_processes() -> None:
    """End them, as the end of the program would."""
    while dehusk.arrow._kept:
        dehusk.arrow._kept.popitem()[1].close()
