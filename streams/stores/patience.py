"""Times for which stores are waited for."""

_LEAST_SECONDS, _MOST_SECONDS = 5.0, 20.0


def answer_seconds(patience: float) -> float:
    """Return the time after which a request to a store that sends nothing is given up.

    It may be longer than that of all attempts, `patience` in seconds, so that a slow store is not taken for
    one that is away.
    """
    return min(max(patience, _LEAST_SECONDS), _MOST_SECONDS)
