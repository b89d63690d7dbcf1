"""The ways a worker ends, as exit statuses; what was in flight is not committed and comes again."""

import logging
import os
from typing import NoReturn

STOPPED = 0
"""Told to stop."""
FAILED = 70
"""A bug: going on could lose messages."""
STALLED = 75
"""No progress, without a reason."""
_log = logging.getLogger(__name__)


def end_process(status: int) -> NoReturn:
    """End at once: nothing that hangs can hold the process, and no other thread goes on."""
    logging.shutdown()
    os._exit(status)


def fail(error: BaseException) -> NoReturn:
    """End at once because of a bug."""
    _log.critical("ending a worker that met a bug; what was in flight comes again", exc_info=error)
    end_process(FAILED)
