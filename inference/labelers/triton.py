"""The labeler on a Triton server: one request per page, so that Triton merges the pages of all workers."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from tritonclient.grpc import InferInput, InferResult
from tritonclient.grpc.aio import InferenceServerClient
from tritonclient.utils import InferenceServerException

from dehusk.inference.labelers.batching import Window, WindowAnswer, join, windows
from dehusk.inference.labelers.labeler import Activity
from dehusk.inference.labelers.signature import SIGNATURE_KEY, SIGNATURES, Signature, Tensor, signature_of
from dehusk.schemas.errors import (
    ConfigurationError,
    DehuskError,
    NotEncodedError,
    PageError,
    UnavailableError,
)
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import EncodedPage, Encoding, ModelVersion, Prediction

Answer = TypeVar("Answer")
Floats = npt.NDArray[np.float32]

CONCURRENT_REQUESTS = 32
"""Limit of concurrent requests of one labeler: one full batch runs while the next one forms."""

_CHANNEL = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2000),
]
"""Options of gRPC, whose own two minutes between attempts to reconnect outlast most restarts of a server."""


class TritonLabeler:
    """Labels pages with the model of a Triton server; connects at the first call."""

    def __init__(self, address: str, model: str, version: str = "", timeout: float = 20.0) -> None:
        self._address = address
        self._model = model
        self._version = version
        self._timeout = timeout
        self._connection: InferenceServerClient | None = None
        self._served = ""
        """Version that Triton served when the signature was last checked."""
        self._signature: Signature | None = None
        self._checked: set[str] = set()
        self._requests = asyncio.Semaphore(CONCURRENT_REQUESTS)

    @property
    def encodings(self) -> frozenset[Encoding]:
        """Optional encodings that the model reads, as far as it has answered."""
        return frozenset() if self._signature is None else self._signature.encodings

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """Return one answer per page, in order; no request is left in flight when one fails."""
        try:
            if self._signature is None:
                self._signature = await self._check()
            answers = await asyncio.gather(*map(self._label, pages), return_exceptions=True)
            return [_raised(answer) for answer in answers]
        except (UnavailableError, ConfigurationError):
            await self._check_version()
            raise

    async def activity(self) -> Activity:
        """Return Triton's totals for all versions of the model, or for the one that is asked for."""
        try:
            answer = await self._call(
                self._client.get_inference_statistics(
                    self._model, self._version, client_timeout=self._timeout
                )
            )
        except PageError as error:
            raise ConfigurationError(str(error)) from error
        each = answer.model_stats
        return Activity(
            requests=sum(version.inference_count for version in each),
            batches=sum(version.execution_count for version in each),
            queue_seconds=sum(version.inference_stats.queue.ns for version in each) / 1e9,
            errors=sum(version.inference_stats.fail.count for version in each),
        )

    async def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _label(self, page: EncodedPage) -> Prediction | Broken:
        signature = self._signature or await self._check()
        try:
            answers = [await self._infer(window, signature) for window in windows(page, signature)]
        except (PageError, NotEncodedError) as error:
            if await self._check() is not signature:  # a version that reads another encoding took over
                return await self._label(page)
            if isinstance(error, NotEncodedError):
                raise
            return Broken(error.reason, str(error))
        versions = {version for _, version in answers} or {self._served}
        if len(versions) > 1:  # the model was swapped between two windows of the page
            return await self._label(page)
        (version,) = versions
        return join(page, [values for values, _ in answers], ModelVersion(self._model, version), "triton")

    async def _infer(self, window: Window, signature: Signature) -> tuple[WindowAnswer, str]:
        """Return the answer to one window, and the version that gave it."""
        inputs = [_input(tensor, window.tensors[tensor.name]) for tensor in signature.request]
        async with self._requests:
            result = await self._call(
                self._client.infer(
                    self._model, inputs, model_version=self._version, client_timeout=self._timeout
                )
            )
        version = result.get_response().model_version
        if version not in self._checked:
            await self._check()
            self._checked.add(version)
        return [_values(result, tensor) for tensor in signature.answer], version

    @property
    def _client(self) -> InferenceServerClient:
        if self._connection is None:
            self._connection = InferenceServerClient(self._address, channel_args=_CHANNEL)
        return self._connection

    async def _check(self) -> Signature:
        """Return the signature of the model served now.

        Raises:
            ConfigurationError: it has none of those encoded here, or other tensors than it declares.
        """
        which = {"model_name": self._model, "model_version": self._version, "client_timeout": self._timeout}
        try:
            metadata = await self._call(self._client.get_model_metadata(**which))
            config = await self._call(self._client.get_model_config(**which))
        except PageError as error:
            raise ConfigurationError(str(error)) from error
        tensors = {Tensor(each.name, each.datatype) for each in (*metadata.inputs, *metadata.outputs)}
        declared = config.config.parameters[SIGNATURE_KEY].string_value
        signature = signature_of(declared)
        if signature is None or tensors != {*signature.request, *signature.answer}:
            known = " and ".join(repr(each.declared) for each in SIGNATURES)
            raise ConfigurationError(
                f"model {self._model!r} at {self._address} declares the signature {declared!r} and has the"
                f" tensors {sorted(tensor.name for tensor in tensors)}; this worker speaks {known}"
            )
        self._signature = signature
        self._served = self._version or max(metadata.versions, key=int)
        self._checked.add(self._served)
        return signature

    async def _check_version(self) -> None:
        """Check that Triton serves the version asked for, if it serves any.

        Raises:
            ConfigurationError: it serves others instead.
        """
        served = await self._served_versions() if self._version else []
        if served and self._version not in served:
            raise ConfigurationError(
                f"Triton at {self._address} serves version {', '.join(served)} of model {self._model!r}, "
                f"and not version {self._version}, which it is asked for"
            )

    async def _served_versions(self) -> list[str]:
        """Return the versions of the model that are ready; none if Triton does not answer."""
        try:
            index = await self._call(self._client.get_model_repository_index(client_timeout=self._timeout))
        except UnavailableError:
            return []
        return [each.version for each in index.models if (each.name, each.state) == (self._model, "READY")]

    async def _call(self, call: Awaitable[Answer]) -> Answer:
        try:
            return await call
        except InferenceServerException as error:
            raise self._translated(error) from error

    def _translated(self, error: InferenceServerException) -> DehuskError:
        """Translate a refusal: no such model, a wrong request, or a Triton that cannot serve it now."""
        message = f"Triton at {self._address}: {error.message()}"
        match error.status():
            case "StatusCode.NOT_FOUND":
                return ConfigurationError(message)
            case "StatusCode.INVALID_ARGUMENT":
                return PageError(BrokenReason.REJECTED_BY_MODEL, message)
            case _:
                return UnavailableError(message)


def _input(tensor: Tensor, values: npt.NDArray[Any]) -> InferInput:
    tensor_input = InferInput(tensor.name, [1, len(values)], tensor.data_type)
    tensor_input.set_data_from_numpy(values[np.newaxis])
    return tensor_input


def _values(result: InferResult, tensor: Tensor) -> Floats:
    """Return a tensor of the answer, shape [blocks]."""
    values: Floats | None = result.as_numpy(tensor.name)
    if values is None:
        raise PageError(BrokenReason.REJECTED_BY_MODEL, f"no tensor {tensor.name!r} in the answer")
    return values.reshape(-1)


def _raised(answer: Prediction | Broken | BaseException) -> Prediction | Broken:
    if isinstance(answer, BaseException):
        raise answer
    return answer
