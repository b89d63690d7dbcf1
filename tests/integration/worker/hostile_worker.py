"""`dehusk worker` with a source whose decoder does what a page's URL says: a program of the tests alone."""

import ctypes
import time
from collections.abc import Sequence

from dehusk.schemas.pages import Message
from dehusk.streams.cli import worker
from dehusk.streams.settings import MIB
from dehusk.streams.sources.html import Html
from dehusk.streams.sources.source import Decoded
from dehusk.streams.worker import run
from dehusk.streams.worker.run import run_worker


class HostileSource(Html):
    """HTML whose decoder raises, crashes, hangs or swallows memory for some pages."""

    def __init__(self) -> None:
        super().__init__(16 * MIB)

    def decode(self, message: Message) -> Sequence[Decoded]:
        match (message.key or b"").rpartition(b"/")[2]:
            case b"raises":
                raise ValueError("a decoder with a bug")
            case b"segfaults":
                ctypes.string_at(0)
            case b"hangs":
                time.sleep(600)
            case b"hangs-natively":
                ctypes.PyDLL(None).pause()
            case b"swallows":
                return [bytearray(2048 * MIB)]
            case b"nothing":
                return []
        return super().decode(message)


if __name__ == "__main__":
    run.run_worker = lambda settings: run_worker(settings, HostileSource)
    worker.command(auto_envvar_prefix="DEHUSK_WORKER")
