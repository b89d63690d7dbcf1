"""What killed processes leave of multiprocessing in the system's temporary folder: the next one removes it.

Its fork server listens at a socket file there, in a folder that only a process which ends by itself removes.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from multiprocessing.util import get_temp_dir
from pathlib import Path

_LOCK = "dehusk.lock"


@cache
def claim_folder() -> None:
    """Remove the folders of processes that were killed, and lock this one's own for as long as it lives."""
    for lock in Path(tempfile.gettempdir()).glob(f"pymp-*/{_LOCK}"):
        with suppress(OSError):  # it is in use, another user's, or removed by another
            os.close(_locked(lock))
            shutil.rmtree(lock.parent)
    own = Path(get_temp_dir(), "claiming")
    _locked(own)
    own.rename(own.with_name(_LOCK))  # so nobody finds it without its lock


def _locked(file: Path) -> int:
    """The open file, whose lock the kernel releases with it, or however its process ends.

    Raises:
        BlockingIOError: another process holds the lock.
    """
    opened = os.open(file, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        raise
    return opened
