"""A client of a Triton server: its calls over gRPC, and its errors as those of dehusk."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tritonclient.grpc import InferInput, InferResult
from tritonclient.grpc.aio import InferenceServerClient
from tritonclient.utils import InferenceServerException

from dehusk.inference.labelers.batching import Window, WindowAnswer
from dehusk.inference.labelers.signature import SIGNATURE_KEY, TRUSTED_KEY, Signature, Tensor
from dehusk.schemas.errors import ConfigurationError, DehuskError, LateError, UnavailableError

READY = "READY"
"""State of a version that is served."""

_CHANNEL = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2000),
]
"""Options of gRPC, whose own two minutes between attempts to reconnect outlast most restarts of a server."""


class RefusedError(ConfigurationError):
    """A request that Triton answered with an error."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        """Name of gRPC's status, e.g. `NOT_FOUND`."""
        self.message = message

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class ServedVersion:
    """A version that Triton knows."""

    model: str
    version: str
    """Empty for a model of its repository that it has not loaded."""
    state: str
    """READY, LOADING, UNLOADING or UNAVAILABLE; empty for a version that was never loaded."""
    reason: str
    """Reason why it is not available."""


class TritonClient:
    """A client of one server, which connects at the first call.

    Each call raises an `UnavailableError` if Triton does not answer, a `LateError` among them, and else a
    `RefusedError`.
    """

    def __init__(self, address: str, timeout: float = 60.0, option: str = "") -> None:
        self.address = address
        self.timeout = timeout
        """Seconds that one call may take."""
        self._option = option
        """Option that sets the timeout; empty where none does."""
        self._connection: InferenceServerClient | None = None

    async def close(self) -> None:
        """Close the connection; a later call opens another one."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def infer(
        self, model: str, signature: Signature, window: Window, version: str = ""
    ) -> tuple[WindowAnswer, str]:
        """Return the answer to one window, and the version that gave it; a tensor that it lacks is empty."""
        inputs = [_input(tensor, window.tensors[tensor.name]) for tensor in signature.request]
        result = await self._call(self._client.infer, model, inputs, model_version=version)
        return [_values(result, tensor) for tensor in signature.answer], result.get_response().model_version

    async def metadata(self, model: str, version: str = "") -> Any:  # noqa: ANN401 Triton's messages have no types
        """Return the `ModelMetadataResponse` of a served model."""
        return await self._call(self._client.get_model_metadata, model, version)

    async def signature(self, model: str, version: str = "") -> str:
        """Return the signature that a served version declares, or `none`."""
        return (await self.parameters(model, version)).get(SIGNATURE_KEY, "none")

    async def parameters(self, model: str, version: str = "") -> dict[str, str]:
        """Return the parameters of a served model."""
        parameters = (await self.config(model, version)).parameters
        return {key: str(each.string_value) for key, each in parameters.items()}

    async def config(self, model: str, version: str = "") -> Any:  # noqa: ANN401 see above
        """Return the `ModelConfig` of a served model, with its defaults filled in."""
        return (await self._call(self._client.get_model_config, model, version)).config

    async def statistics(self, model: str = "", version: str = "") -> list[Any]:
        """Return the `ModelStatistics` of each ready version, or of those that are named."""
        answer = await self._call(self._client.get_inference_statistics, model, version)
        return [*answer.model_stats]

    async def index(self) -> list[ServedVersion]:
        """Return the versions of the repository that it knows."""
        answer = await self._call(self._client.get_model_repository_index)
        return [ServedVersion(each.name, each.version, each.state, each.reason) for each in answer.models]

    async def load(
        self, model: str, config: str | None = None, files: Mapping[str, bytes] | None = None
    ) -> None:
        """Load a model from the repository, or the one given; return when it is ready."""
        await self._call(self._client.load_model, model, config=config, files=files)

    async def unload(self, model: str) -> None:
        """Begin to unload all versions of a model."""
        await self._call(self._client.unload_model, model)

    @property
    def _client(self) -> InferenceServerClient:
        if self._connection is None:
            self._connection = InferenceServerClient(self.address, channel_args=_CHANNEL)
        return self._connection

    async def _call(self, method: Callable[..., Awaitable[Any]], *arguments: object, **named: object) -> Any:  # noqa: ANN401 see above
        try:
            return await method(*arguments, client_timeout=self.timeout, **named)
        except InferenceServerException as error:
            raise self._translated(error) from error

    def _translated(self, error: InferenceServerException) -> DehuskError:
        message = f"Triton at {self.address}: {error.message()}"
        match status := str(error.status()).removeprefix("StatusCode."):
            case "DEADLINE_EXCEEDED":
                option = f" ({self._option})" if self._option else ""
                return LateError(f"Triton at {self.address} did not answer within {self.timeout:g} s{option}")
            case "UNAVAILABLE":
                return UnavailableError(message)
            case _:
                return RefusedError(status, message)


def ready_in(index: Sequence[ServedVersion], model: str) -> list[str]:
    """Return the ready versions of a model among those of an index, in its order."""
    return [each.version for each in index if (each.model, each.state) == (model, READY)]


def trusted_of(parameters: Mapping[str, str], ready: Iterable[str]) -> str:
    """Return the version that labels for those who name none: the trusted one, or the newest ready one."""
    newest_first = sorted(ready, key=int, reverse=True)
    named = parameters.get(TRUSTED_KEY)
    return named if named in newest_first else newest_first[0]


def _input(tensor: Tensor, values: npt.NDArray[Any]) -> InferInput:
    tensor_input = InferInput(tensor.name, [1, len(values)], tensor.data_type)
    tensor_input.set_data_from_numpy(values[np.newaxis])
    return tensor_input


def _values(result: InferResult, tensor: Tensor) -> npt.NDArray[np.float32]:
    values: npt.NDArray[np.float32] | None = result.as_numpy(tensor.name)
    return np.empty(0, np.float32) if values is None else values.reshape(-1)
