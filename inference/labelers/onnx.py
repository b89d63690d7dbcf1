"""The labeler in process: a model of the repository on ONNX Runtime, no server needed."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Self

import numpy as np
import onnxruntime

from dehusk.inference.labelers.batching import Window, WindowAnswer, concatenate, groups, join, windows
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.inference.labelers.signature import (
    SIGNATURE_KEY,
    Signature,
    Tensor,
    names_of,
    signature_of,
    unknown_signature,
)
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, Prediction

_TURN_BLOCKS = 16_384
"""Number of blocks after which other calls get their turn; a batch of ordinary pages rarely has more."""
_FATAL_ONLY = 4
"""Severity from which ONNX Runtime writes to standard error; errors are less severe, and raised."""
_FLOATS = {"float": "FP32", "float16": "FP16"}
"""Triton's names of the types that have other ones in ONNX Runtime."""


class OnnxLabeler:
    """Labeler with a model that runs in this process.

    Raises:
        ConfigurationError: the repository holds no such model, or its tensors are not the ones encoded.
    """

    def __init__(self, model: str, version: str = "", repository: Path = DEFAULT_REPOSITORY) -> None:
        self._model, file = find_model(repository, model, version)
        self._session = open_session(file)
        self._signature = _signature(self._session, file)
        self._thread = _new_thread()

    @property
    def signature(self) -> Signature:
        """Tensors that the model reads."""
        return self._signature

    @property
    def encodings(self) -> frozenset[Encoding]:
        """Optional encodings that the model reads."""
        return self._signature.encodings

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """Return one answer per page, in order; the event loop stays free, and other calls get turns."""
        answers: list[list[WindowAnswer]] = [[] for _ in pages]
        numbered = (
            (number, window) for number, page in enumerate(pages) for window in windows(page, self._signature)
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
        return self._join(page, self._answers(list(windows(page, self._signature))))

    def twin(self) -> Self:
        """Return a labeler with the same session."""
        twin = copy(self)
        twin._thread = _new_thread()  # noqa: SLF001 it is its own
        return twin

    async def close(self) -> None:
        """End its thread after the call that runs; the session goes with the labeler."""
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
        return list(zip(numbers, self._answers(taken), strict=True))

    def _answers(self, batch: list[Window]) -> list[WindowAnswer]:
        """Return the answer to each window, in order; windows of similar length run together."""
        if len(batch) == 1:
            return self._run(batch)
        answers: dict[int, WindowAnswer] = {}
        for group in groups([len(window) for window in batch]):
            answers.update(zip(group, self._run([batch[index] for index in group]), strict=True))
        return [answers[index] for index in range(len(batch))]

    def _run(self, batch: list[Window]) -> list[WindowAnswer]:
        """Return the answer to each window; all run together.

        Raises:
            UnavailableError: ONNX Runtime cannot run the model on them, as a server would say.
        """
        try:
            return run(self._session, self._signature, batch)
        except Exception as error:  # ONNX Runtime's errors share no other base class
            raise UnavailableError(f"ONNX Runtime cannot run the model: {error}") from error


def _new_thread() -> ThreadPoolExecutor:
    """Return a thread of one labeler, in which a call that was given up keeps no other one waiting."""
    return ThreadPoolExecutor(1, "onnx")


def run(
    session: onnxruntime.InferenceSession, signature: Signature, batch: list[Window]
) -> list[WindowAnswer]:
    """Return the answer to each of some windows that run together."""
    feed = {
        tensor.name: concatenate([window.tensors[tensor.name] for window in batch])
        for tensor in signature.request
    }
    for count in signature.counts:
        sizes = [len(window.tensors[count.counted.name]) for window in batch]
        feed[count.tensor.name] = np.array(sizes, np.int32)
    answer: WindowAnswer = session.run([tensor.name for tensor in signature.answer], feed)
    if len(batch) == 1:
        return [[values.ravel() for values in answer]]
    ends = list(accumulate(len(window) for window in batch))
    blocks = [slice(*each) for each in pairwise([0, *ends])]
    pages = [slice(page, page + 1) for page in range(len(batch))]
    parts = [pages if tensor.columns else blocks for tensor in signature.answer]
    split = ([values[part].ravel() for part in of_it] for values, of_it in zip(answer, parts, strict=True))
    return [list(of_window) for of_window in zip(*split, strict=True)]


def open_session(file: Path) -> onnxruntime.InferenceSession:
    """Load a model file, which runs in one thread.

    Raises:
        ConfigurationError: ONNX Runtime cannot load it.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = _FATAL_ONLY
    try:
        return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's errors share no other base class
        raise ConfigurationError(f"ONNX Runtime cannot load {file}: {error}") from error


def _signature(session: onnxruntime.InferenceSession, file: Path) -> Signature:
    declared = session.get_modelmeta().custom_metadata_map.get(SIGNATURE_KEY, "none")
    signature = signature_of(declared)
    if signature is None:
        raise ConfigurationError(unknown_signature(str(file), declared))
    read, answered = ({*map(_tensor, each)} for each in (session.get_inputs(), session.get_outputs()))
    if (read, answered) != (signature.model_inputs, {*signature.answer}):
        raise ConfigurationError(
            f"{file} declares the signature {declared!r} and has other tensors: {names_of(read | answered)}"
        )
    return signature


def _tensor(declared: onnxruntime.NodeArg) -> Tensor:
    kind = declared.type.removeprefix("tensor(").removesuffix(")")
    return Tensor(declared.name, _FLOATS.get(kind, kind.upper()))
