"""Guard of one program: the program, and all that it started, ends when its supervisor does.

    python guard.py SUPERVISOR_PID PROGRAM ARGUMENT…

The program gets a process group of its own, to which the guard passes signals. When the supervisor dies,
even by SIGKILL, the guard kills the group; when the guard is killed, the kernel kills the program. When the
program ends, the guard kills what is left of its group and ends with the program's exit status.
"""

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Thread

PASSED_ON = {
    signal.SIGTERM: signal.SIGTERM,
    signal.SIGQUIT: signal.SIGKILL,
    signal.SIGTSTP: signal.SIGSTOP,
    signal.SIGCONT: signal.SIGCONT,
}
"""Signals for the program's group by those that the guard gets, as SIGKILL and SIGSTOP cannot be caught."""
_PR_SET_PDEATHSIG = 1
_POLL_SECONDS = 0.5


def main(supervisor: int, command: list[str]) -> int:
    """Run the command until it ends or the supervisor dies."""
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)  # until the program runs
    child = _start(command)
    for received in PASSED_ON:
        signal.signal(received, lambda number, _: _signal_group(child.pid, PASSED_ON[signal.Signals(number)]))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    waiting = Thread(target=child.wait, daemon=True)  # `wait` with a time limit would ask 20 times a second
    waiting.start()
    while waiting.is_alive() and os.getppid() == supervisor:
        waiting.join(_POLL_SECONDS)
    status = 1 if child.returncode is None else child.returncode
    _signal_group(child.pid, signal.SIGKILL)
    return status if status >= 0 else 128 - status


def _start(command: list[str]) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            process_group=0,
            preexec_fn=_prepare,  # noqa: PLW1509 the guard has one thread yet
        )
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started: {error.strerror}")


def _prepare() -> None:
    """Unblock signals in the new process, and let it die with the guard, before it becomes the program."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _signal_group(group: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
