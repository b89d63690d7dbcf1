"""A start of processes that run nothing of the program that starts them, nor of the folder it is in.

`multiprocessing` has each process run the program's main module, which starts processes again unless it is
guarded by `if __name__ == "__main__":`. Processes that work on pages need nothing of it.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, popen_forkserver, process, reduction, spawn, util
from multiprocessing.context import ForkServerContext, ForkServerProcess, set_spawning_popen
from pathlib import Path
from threading import Lock
from typing import Any

_MAIN_MODULE = ("init_main_from_name", "init_main_from_path")
_SAFE_PATH = "PYTHONSAFEPATH"
_environment = Lock()
"""Held while the environment is another: threads start processes at the same time."""


class _Popen(popen_forkserver.Popen):
    """A start by the fork server, as that of its base but for the main module."""

    _fds: list[int]

    def _launch(self, process_obj: process.BaseProcess) -> None:
        prepared = spawn.get_preparation_data(process_obj.name)
        for name in _MAIN_MODULE:
            prepared.pop(name, None)
        sent = io.BytesIO()
        set_spawning_popen(self)
        try:
            reduction.dump(prepared, sent)
            reduction.dump(process_obj, sent)
        finally:
            set_spawning_popen(None)
        with _without_current_folder():
            forkserver.ensure_running()
        self.sentinel, connection = forkserver.connect_to_new_process(self._fds)
        parent = os.dup(connection)  # its end tells the process that this one has ended
        self.finalizer = util.Finalize(self, _close, (parent, self.sentinel))
        with open(connection, "wb", closefd=True) as file:  # noqa: PTH123 a descriptor
            file.write(sent.getbuffer())
        self.pid = forkserver.read_signed(self.sentinel)


@contextmanager
def _without_current_folder() -> Iterator[None]:
    """Have what starts within import nothing from the current folder, as `python -c` does.

    The fork server imports what is preloaded before it knows the path of this process.
    """
    with _environment:
        before = os.environ.get(_SAFE_PATH)
        os.environ[_SAFE_PATH] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ[_SAFE_PATH]
            else:
                os.environ[_SAFE_PATH] = before


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


class _Process(ForkServerProcess):
    def start(self) -> None:
        """Start as its base does, and also from a daemonic process, as those of `multiprocessing.Pool` are.

        A daemonic process may have no children, as it may be ended without ending them; these end by
        themselves once their connection does.
        """
        process._cleanup()  # type: ignore[attr-defined]  # noqa: SLF001
        self._popen = self._Popen(self)
        self._sentinel = self._popen.sentinel
        del self._target, self._args, self._kwargs  # type: ignore[attr-defined]
        process._children.add(self)  # type: ignore[attr-defined]  # noqa: SLF001

    @staticmethod
    def _Popen(process_obj: process.BaseProcess) -> _Popen:  # noqa: N802 its name in multiprocessing
        return _Popen(process_obj)


class IsolatedContext(ForkServerContext):
    """The context of processes that run nothing of the program that starts them."""

    Process = _Process


def new_temporary_folder() -> Path:
    """Have multiprocessing use a new temporary folder in this process, whose end removes it.

    The one before may be that of the process that started this one, by whatever method: each may outlive the
    other.
    """
    process.current_process()._config.pop("tempdir", None)  # type: ignore[attr-defined]  # noqa: SLF001
    return Path(util.get_temp_dir())


def _leave_processes() -> None:
    """Have a process that was forked by a program start processes and a fork server of its own.

    It would wait for those of the program as for children, which fails at its end.
    """
    children: set[process.BaseProcess] = process._children  # type: ignore[attr-defined]  # noqa: SLF001
    children.difference_update([child for child in children if isinstance(child, _Process)])
    server: Any = forkserver._forkserver  # noqa: SLF001
    server._lock = Lock()  # noqa: SLF001 a thread that is not here may hold it
    if server._forkserver_pid is not None:  # noqa: SLF001
        os.close(server._forkserver_alive_fd)  # noqa: SLF001
        server._forkserver_address = server._forkserver_alive_fd = server._forkserver_pid = None  # noqa: SLF001


os.register_at_fork(after_in_child=_leave_processes)
