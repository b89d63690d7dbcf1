"""The labeler in process: a model of the repository, in native code or on ONNX Runtime."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path
from typing import Protocol, Self

from dehusk.inference.labelers.batching import Window, WindowAnswer, join, windows
from dehusk.inference.labelers.network import read_native
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.inference.labelers.signature import Signature
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, Prediction

_TURN_BLOCKS = 16_384
"""Number of blocks after which other calls get their turn; a batch of ordinary pages rarely has more."""


class LoadedModel(Protocol):
    """A model that is loaded in this process."""

    @property
    def signature(self) -> Signature:
        """Tensors that it reads and answers."""

    def answers(self, batch: Sequence[Window]) -> list[WindowAnswer]:
        """Return the answer to each window, in order.

        Raises:
            UnavailableError: it cannot answer, as a server would say.
        """


class OnnxLabeler:
    """Labeler with a model that runs in this process.

    Raises:
        ConfigurationError: the repository holds no such model, or its tensors are not the ones encoded.
    """

    def __init__(self, model: str, version: str = "", repository: Path = DEFAULT_REPOSITORY) -> None:
        self._model, file = find_model(repository, model, version)
        self._loaded = load_model(file)
        self._thread = _new_thread()

    @property
    def signature(self) -> Signature:
        """Tensors that the model reads."""
        return self._loaded.signature

    @property
    def encodings(self) -> frozenset[Encoding]:
        """Optional encodings that the model reads."""
        return self.signature.encodings

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """Return one answer per page, in order; the event loop stays free, and other calls get turns."""
        answers: list[list[WindowAnswer]] = [[] for _ in pages]
        numbered = (
            (number, window) for number, page in enumerate(pages) for window in windows(page, self.signature)
        )
        is_done = False
        while not is_done:
            loop = asyncio.get_running_loop()
            turn = await loop.run_in_executor(self._thread, self._take_turn, numbered)
            for number, answer in turn:
                answers[number].append(answer)
            is_done = sum(len(answer[0]) for _, answer in turn) < _TURN_BLOCKS
        return [self._join(page, of_page) for page, of_page in zip(pages, answers, strict=True)]

    def label_here(self, page: EncodedPage) -> Prediction | Broken:
        """Return the answer to one page, in the calling thread."""
        return self._join(page, self._loaded.answers(list(windows(page, self.signature))))

    def twin(self) -> Self:
        """Return a labeler with the same model."""
        twin = copy(self)
        twin._thread = _new_thread()  # noqa: SLF001 it is its own
        return twin

    async def close(self) -> None:
        """End its thread after the call that runs; the model goes with the labeler."""
        self._thread.shutdown(wait=False)

    def _join(self, page: EncodedPage, answers: list[WindowAnswer]) -> Prediction | Broken:
        return join(page, answers, self._model, "onnx")

    def _take_turn(self, numbered: Iterator[tuple[int, Window]]) -> list[tuple[int, WindowAnswer]]:
        """Return the answers to the next windows, each with its page's number."""
        numbers: list[int] = []
        taken: list[Window] = []
        blocks = 0
        for number, window in numbered:
            numbers.append(number)
            taken.append(window)
            blocks += len(window)
            if blocks >= _TURN_BLOCKS:
                break
        return list(zip(numbers, self._loaded.answers(taken), strict=True))


def load_model(file: Path) -> LoadedModel:
    """Load a model in native code, which takes less time, or on ONNX Runtime, which runs all.

    Raises:
        ConfigurationError: ONNX Runtime cannot load it, or its tensors are not the ones encoded.
    """
    native = read_native(file)
    if native is not None:
        return native
    from dehusk.inference.labelers.onnx_runtime import RuntimeModel  # noqa: PLC0415 it is loaded where it is used

    return RuntimeModel(file)


def _new_thread() -> ThreadPoolExecutor:
    """Return a thread of one labeler, in which a call that was given up keeps no other one waiting."""
    return ThreadPoolExecutor(1, "onnx")
