"""Processes that clean batches, which are kept for the next batch."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from dehusk.many import Cleaning
from dehusk.options import Options

_MAX_KEPT = 4
"""Sets of options whose processes are kept for the next batch."""
_kept: dict[tuple[object, ...], Cleaning] = {}
"""Processes that have cleaned batches, by their options; those that were used last come last."""
_using = Lock()


@contextmanager
def kept_cleaning(options: Options, processes: int, page_seconds: float) -> Iterator[Cleaning]:
    """Yield the processes that are kept for these options, or new ones, and keep them."""
    key = (processes, page_seconds, *((name, repr(value)) for name, value in sorted(options.items())))
    with _using:
        cleaning = _kept.pop(key, None) or Cleaning(options, processes, page_seconds)
        try:
            yield cleaning
        except BaseException:
            cleaning.close()
            raise
        _kept[key] = cleaning
        if len(_kept) > _MAX_KEPT:
            _kept.pop(next(iter(_kept))).close()


def _forget_all() -> None:
    """Forget the processes of the process that has forked this one."""
    global _using  # noqa: PLW0603 the other thread that may hold it is not here
    _using = Lock()
    _kept.clear()


os.register_at_fork(after_in_child=_forget_all)
