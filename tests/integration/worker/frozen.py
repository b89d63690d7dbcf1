"""Workers that are frozen, as by a paused container or a machine without memory."""

import signal

FROZEN_SECONDS = 9.0
"""Longer than the session of the workers."""


def freeze(worker) -> None:
    for process in worker.processes():
        process.send_signal(signal.SIGSTOP)


def thaw(worker) -> None:
    for process in worker.processes():
        process.send_signal(signal.SIGCONT)
