"""Triton's `onnxruntime` backend for the Triton that pip installs, which has only a Python backend.

It serves an unchanged model repository the way the C++ backend does, ragged batching included: on the CPU or,
where the package onnxruntime-gpu stands in for onnxruntime, on a GPU. The server finds it as
`<backend directory>/onnxruntime/model.py`. Tensors pass by DLPack, as `as_numpy` and `Tensor(…)` of that
Triton know the arrays of NumPy 1 alone.
"""

import ctypes
import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import triton_python_backend_utils as triton

from dehusk.inference.labelers.batching import groups

Arrays = dict[str, npt.NDArray[Any]]

_THREADS = "intra_op_thread_count"
_CPU, _CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
_BATCH_INPUT = "BATCH_ELEMENT_COUNT"
_BATCH_OUTPUT = "BATCH_SCATTER_WITH_INPUT_SHAPE"
_USED = b"used_dltensor"
"""Name of a capsule whose memory has another owner, which has to outlive it."""


class TritonPythonModel:
    """One instance of one model version; the name and the methods are Triton's."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the model file of this version, and hold a lock for as long as this process lives."""
        config = json.loads(args["model_config"])
        self._inputs = [each["name"] for each in config["input"]]
        self._counts = _batch_inputs(config)
        self._shaped_by = _batch_outputs(config)
        self._outputs = [each["name"] for each in config["output"]]
        file = Path(args["model_repository"], args["model_version"], "model.onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(config["parameters"].get(_THREADS, {}).get("string_value", "1"))
        options.enable_mem_pattern = False  # see `inference.labelers.onnx_runtime.open_session`
        self._session = onnxruntime.InferenceSession(file, options, providers=_providers(args))
        self._is_on_cpu = _CUDA not in self._session.get_providers()
        self._check_inputs(file)
        self._hold_lock(Path(__file__).with_name(str(os.getpid())))

    def finalize(self) -> None:
        """Remove the lock file; one that stays unlocked is the mark of a process that died."""
        self._lock.unlink()

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Return a response per request, in order; a request that fails does not fail the others."""
        feeds = [self._feed(request) for request in requests]
        responses: dict[int, Any] = {}
        sizes = [feed[self._sized_by].size for feed in feeds]
        for group in groups(sizes) if self._is_on_cpu else [range(len(feeds))]:
            answers = self._answers([feeds[index] for index in group])
            responses.update(zip(group, answers, strict=True))
        return [responses[index] for index in range(len(requests))]

    def _hold_lock(self, file: Path) -> None:
        """Lock a file until the process ends; it gets its final name once it is locked."""
        self._locked = file.open("w")
        fcntl.flock(self._locked, fcntl.LOCK_EX)
        self._lock = file.rename(file.with_suffix(".lock"))

    @property
    def _sized_by(self) -> str:
        """Input whose size is the length of a request."""
        return next(iter(self._shaped_by.values()))

    def _check_inputs(self, file: Path) -> None:
        declared = {*self._inputs, *self._counts}
        actual = {each.name for each in self._session.get_inputs()}
        if declared != actual:
            raise triton.TritonModelException(
                f"{file} reads {sorted(actual)}, config.pbtxt declares {sorted(declared)}"
            )

    def _feed(self, request: Any) -> Arrays:
        return {name: np.from_dlpack(triton.get_input_tensor_by_name(request, name)) for name in self._inputs}

    def _answers(self, feeds: list[Arrays]) -> list[Any]:
        try:
            return self._run(feeds)
        except Exception as error:  # noqa: BLE001 - ONNX Runtime's errors share no base class
            if len(feeds) == 1:
                return [triton.InferenceResponse(error=_refusal(error))]
            return [answer for feed in feeds for answer in self._answers([feed])]

    def _run(self, feeds: list[Arrays]) -> list[Any]:
        merged = {name: np.concatenate([feed[name].ravel() for feed in feeds]) for name in self._inputs}
        for name, source in self._counts.items():
            merged[name] = np.array([feed[source].size for feed in feeds], np.int32)
        outputs = dict(zip(self._outputs, self._session.run(self._outputs, merged), strict=True))
        return [
            triton.InferenceResponse([_tensor(name, part) for name, part in each.items()])
            for each in self._scattered(outputs, feeds)
        ]

    def _scattered(self, outputs: Arrays, feeds: list[Arrays]) -> list[Arrays]:
        """Return each request's part of the outputs.

        One that is scattered has the shape of the input that its size comes from. Of others, a request gets
        as many rows as it has pages.
        """
        parts: list[Arrays] = [{} for _ in feeds]
        for name, values in outputs.items():
            like = [feed[self._shaped_by.get(name, self._sized_by)] for feed in feeds]
            is_scattered = name in self._shaped_by
            ends = np.cumsum([array.size if is_scattered else len(array) for array in like])
            for part, array, piece in zip(parts, like, np.split(values, ends[:-1]), strict=True):
                shape = array.shape if is_scattered else (len(array), *values.shape[1:])
                part[name] = np.ascontiguousarray(piece.reshape(shape))
        return parts


def _tensor(name: str, array: npt.NDArray[Any]) -> Any:
    """Return a tensor of Triton's, which shares the memory of an array.

    Triton renames the capsule that it has taken to `used_dlpack`, for which NumPy prints an error when the
    capsule goes; the standard of DLPack has another name.
    """
    capsule = array.__dlpack__()
    tensor = triton.Tensor.from_dlpack(name, capsule)
    ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), _USED)
    return tensor


def _providers(args: dict[str, str]) -> list[Any]:
    """Return what runs an instance: CUDA on a GPU, whose single numbers are not to be rounded to TF32."""
    if args["model_instance_kind"] != "GPU" or _CUDA not in onnxruntime.get_available_providers():
        return [_CPU]
    return [(_CUDA, {"device_id": args["model_instance_device_id"], "use_tf32": "0"}), _CPU]


def _batch_inputs(config: dict[str, Any]) -> dict[str, str]:
    """Return the counted inputs, each with the ragged input that it counts."""
    for each in config["batch_input"]:
        if (each["kind"], each["data_type"]) != (_BATCH_INPUT, "TYPE_INT32"):
            raise triton.TritonModelException(f"only {_BATCH_INPUT} of TYPE_INT32 is served, not {each}")
    return {name: each["source_input"][0] for each in config["batch_input"] for name in each["target_name"]}


def _batch_outputs(config: dict[str, Any]) -> dict[str, str]:
    """Return the scattered outputs, each with the input whose shape it takes."""
    for each in config["batch_output"]:
        if each["kind"] != _BATCH_OUTPUT:
            raise triton.TritonModelException(f"only {_BATCH_OUTPUT} is served, not {each}")
    return {name: each["source_input"][0] for each in config["batch_output"] for name in each["target_name"]}


def _refusal(error: Exception) -> Any:
    return triton.TritonError(str(error)[:300], triton.TritonError.INVALID_ARG)
