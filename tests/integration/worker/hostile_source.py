"""A source whose decoder does what a page's URL says, in a module that the processes of pages can import."""

import ctypes
import time
from collections.abc import Sequence

from dehusk.schemas.pages import Message
from dehusk.streams.settings import MIB
from dehusk.streams.sources.html import Html
from dehusk.streams.sources.source import Decoded


class HostileSource(Html):
    """HTML whose decoder raises, crashes, hangs or swallows memory for some pages."""

    def __init__(self, *_: object) -> None:
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
