"""A Triton server with explicit model control: what it serves, loads and unloads, and how fast it answers."""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np
from tritonclient.grpc import InferInput
from tritonclient.grpc.aio import InferenceServerClient
from tritonclient.utils import InferenceServerException

from dehusk.inference.labelers.batching import Window, WindowAnswer
from dehusk.inference.labelers.signature import SIGNATURE_KEY, Signature
from dehusk.schemas.errors import ConfigurationError, UnavailableError

Answer = TypeVar("Answer")

READY = "READY"
_GONE = {"", "UNAVAILABLE"}
_PAUSE = 0.05
_CHANNEL = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class RefusedError(ConfigurationError):
    """Triton refused a request, and would again."""


class LateError(UnavailableError):
    """Triton did not answer in time."""


@dataclass(frozen=True, slots=True)
class ServedVersion:
    """A version that Triton knows."""

    model: str
    version: str
    """Empty for a model of its repository that it has not loaded."""
    state: str
    """READY, LOADING, UNLOADING or UNAVAILABLE; empty for what was never loaded."""
    reason: str
    """Reason why it is not available."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts and mean times of a version since it was loaded."""

    requests: int
    failures: int
    executions: int
    queue_ms: float
    """Mean time that a request waited."""
    compute_ms: float
    """Mean time that a request was computed, with its batch mates."""

    @property
    def batch_size(self) -> float:
        """Mean requests per execution."""
        return self.requests / self.executions if self.executions else 0.0


class ModelServer:
    """A Triton server, as an async context manager."""

    def __init__(self, address: str, timeout: float = 60.0) -> None:
        self.address = address
        self.timeout = timeout
        """Seconds that one call may take, a load included."""

    async def __aenter__(self) -> Self:
        self._client = InferenceServerClient(self.address, channel_args=_CHANNEL)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def index(self) -> list[ServedVersion]:
        """Return the versions that it knows, by model and number; also those that were loaded from memory.

        Its own index has only those of the repository, its statistics all that are ready.
        """
        index = await self._call(self._client.get_model_repository_index(client_timeout=self.timeout))
        ready = await self._call(self._client.get_inference_statistics(client_timeout=self.timeout))
        found = [ServedVersion(each.name, each.version, each.state, each.reason) for each in index.models]
        known = {(each.model, each.version) for each in found}
        found += [
            ServedVersion(each.name, each.version, READY, "")
            for each in ready.model_stats
            if (each.name, each.version) not in known
        ]
        return sorted(found, key=lambda each: (each.model, int(each.version or 0)))

    async def ready(self, model: str) -> list[str]:
        """Return the ready versions of a model, oldest first; the last one gets requests that name none."""
        index = await self.index()
        return [each.version for each in index if (each.model, each.state) == (model, READY)]

    async def load(
        self, model: str, config: str | None = None, files: Mapping[str, bytes] | None = None
    ) -> None:
        """Load a model from the repository, or the one given; return when it is ready.

        Raises:
            RefusedError: a version cannot be loaded; what was served goes on.
        """
        await self._call(
            self._client.load_model(model, config=config, files=files, client_timeout=self.timeout)
        )

    async def unload(self, model: str) -> None:
        """Unload all versions of a model; return when they are gone.

        Raises:
            LateError: a version is still there after the timeout.
        """
        await self._call(self._client.unload_model(model, client_timeout=self.timeout))
        try:
            async with asyncio.timeout(self.timeout):
                await self._wait_until_gone(model)
        except TimeoutError as error:
            raise LateError(f"Triton at {self.address} has not unloaded {model!r} yet") from error

    async def _wait_until_gone(self, model: str) -> None:
        while True:
            states = {each.state for each in await self.index() if each.model == model}
            if states <= _GONE:
                return
            if READY in states:  # a load that nobody waits for any more ended after the unload
                await self._call(self._client.unload_model(model, client_timeout=self.timeout))
            await asyncio.sleep(_PAUSE)

    async def signature(self, model: str, version: str = "") -> str:
        """Return the signature that a served version declares."""
        answer = await self._call(self._client.get_model_config(model, version, client_timeout=self.timeout))
        parameters = answer.config.parameters
        return str(parameters[SIGNATURE_KEY].string_value) if SIGNATURE_KEY in parameters else "none"

    async def statistics(self, model: str, version: str) -> Statistics:
        """Return the statistics of a served version."""
        answer = await self._call(
            self._client.get_inference_statistics(model, version, client_timeout=self.timeout)
        )
        (found,) = answer.model_stats
        counts = found.inference_stats
        return Statistics(
            found.inference_count,
            counts.fail.count,
            found.execution_count,
            _mean_ms(counts.queue),
            _mean_ms(counts.compute_input) + _mean_ms(counts.compute_infer) + _mean_ms(counts.compute_output),
        )

    async def infer(self, model: str, signature: Signature, window: Window) -> WindowAnswer:
        """Return the answer to one window by the version for requests that name none.

        Raises:
            RefusedError: the model failed for it.
        """
        inputs = []
        for tensor in signature.request:
            values = window.tensors[tensor.name]
            inputs.append(InferInput(tensor.name, [1, len(values)], tensor.data_type))
            inputs[-1].set_data_from_numpy(values[np.newaxis])
        result = await self._call(self._client.infer(model, inputs, client_timeout=self.timeout))
        answers = [result.as_numpy(tensor.name) for tensor in signature.answer]
        return [np.empty(0, np.float32) if each is None else each.reshape(-1) for each in answers]

    async def _call(self, call: Awaitable[Answer]) -> Answer:
        try:
            return await call
        except InferenceServerException as error:
            message = f"Triton at {self.address}: {error.message()}"
            match error.status():
                case "StatusCode.DEADLINE_EXCEEDED":
                    raise LateError(f"{message} ({self.timeout:g} s)") from error
                case "StatusCode.UNAVAILABLE":
                    raise UnavailableError(message) from error
                case _:
                    raise RefusedError(message) from error


def _mean_ms(duration: Any) -> float:  # noqa: ANN401 a `StatisticDuration` of Triton's, which has no types
    return float(duration.ns / duration.count / 1e6) if duration.count else 0.0
