"""End of the processes that `dehusk.arrow` keeps for the next batch: tests of others count processes, too."""

from dehusk.arrow import processes


def end_kept_processes() -> None:
    """End them, as the end of the program would."""
    while processes._kept:
        processes._kept.popitem()[1].close()
