"""Models on ONNX Runtime, in this process."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import onnxruntime

from dehusk.inference.labelers.batching import Window, WindowAnswer, concatenate, groups
from dehusk.inference.labelers.signature import (
    SIGNATURE_KEY,
    Signature,
    Tensor,
    names_of,
    signature_of,
    unknown_signature,
)
from dehusk.schemas.errors import ConfigurationError, UnavailableError

_FATAL_ONLY = 4
"""Severity from which ONNX Runtime writes to standard error; errors are less severe, and raised."""
_FLOATS = {"float": "FP32", "float16": "FP16"}
"""Triton's names of the types that have other ones in ONNX Runtime."""


class RuntimeModel:
    """A model that ONNX Runtime runs.

    Raises:
        ConfigurationError: it cannot, or the model's tensors are not the ones encoded.
    """

    def __init__(self, file: Path) -> None:
        self._session = open_session(file)
        self.signature = _signature(self._session, file)

    def answers(self, batch: Sequence[Window]) -> list[WindowAnswer]:
        """Return the answer to each window, in order; windows of similar length run together.

        Raises:
            UnavailableError: ONNX Runtime cannot run the model on them, as a server would say.
        """
        answers: dict[int, WindowAnswer] = {}
        for group in groups([len(window) for window in batch]):
            try:
                of_group = run(self._session, self.signature, [batch[index] for index in group])
            except Exception as error:  # ONNX Runtime's errors share no other base class
                raise UnavailableError(f"ONNX Runtime cannot run the model: {error}") from error
            answers.update(zip(group, of_group, strict=True))
        return [answers[index] for index in range(len(batch))]


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
    options.enable_mem_pattern = False  # which are kept for each size of a batch, without end
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
