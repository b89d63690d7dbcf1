"""Runners of a version that is verified: Triton under another name, or a process of its own."""

import asyncio
import logging
import multiprocessing
import resource
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from dehusk.inference.labelers.batching import Window, WindowAnswer
from dehusk.inference.labelers.onnx import load_model
from dehusk.inference.labelers.repository import MODEL_FILE
from dehusk.inference.labelers.signature import Signature
from dehusk.inference.labelers.triton_client import READY, RefusedError
from dehusk.schemas.errors import ConfigurationError, LateError, UnavailableError
from dehusk.streams.heap import within_hard_limit
from dehusk.streams.models.model_config import WARMUP, as_override, renamed
from dehusk.streams.models.names import Fault, FaultError
from dehusk.streams.models.server import ModelServer
from dehusk.streams.preparation.process import ChildProcess

TEMPORARY = "verify-"
"""Prefix of the names of models that Triton serves only while they are verified."""
_STALE_SECONDS = 3600
_COPIES = 16
"""Requests for each window, sent at once."""
_MAX_MEMORY = 8 << 30
"""Address space of a process that runs a model, in bytes."""
_log = logging.getLogger(__name__)


class Runner(Protocol):
    """A runner of one version."""

    async def run_single(self, window: Window) -> WindowAnswer:
        """Return the answer to a window that is alone in its batch."""
        ...

    async def run_batched(self, windows: Sequence[Window]) -> list[WindowAnswer]:
        """Return the answers to windows that share batches, several for each window, one after the other."""
        ...


class TritonRunner:
    """A model that Triton serves."""

    def __init__(self, server: ModelServer, model: str, signature: Signature, version: str = "") -> None:
        self._server = server
        self._model = model
        self._signature = signature
        self._version = version

    async def run_single(self, window: Window) -> WindowAnswer:
        """Return the answer to one request, sent when no other one waits."""
        try:
            answer, _ = await self._server.infer(self._model, self._signature, window, self._version)
        except LateError as error:
            raise FaultError(Fault.TIMEOUT, str(error)) from error
        except RefusedError as error:
            raise FaultError(Fault.NOT_RUN, str(error)) from error
        return answer

    async def run_batched(self, windows: Sequence[Window]) -> list[WindowAnswer]:
        """Return the answers to requests that are sent at once, so that the dynamic batcher merges them."""
        return await asyncio.gather(*map(self.run_single, [*windows] * _COPIES))


@asynccontextmanager
async def open_triton_runner(
    server: ModelServer,
    signature: Signature,
    content: bytes,
    config: Any,  # noqa: ANN401 a `ModelConfig` of Triton's
    warmup: Mapping[str, bytes],
) -> AsyncIterator[TritonRunner]:
    """Load a model file on Triton over the network under a temporary name, and unload it at the end.

    Nothing but the name is otherwise than it would be served: `warmup` has the files of its warm-ups.

    Raises:
        FaultError: Triton cannot load it, or not in time.
    """
    await _unload_stale(server)
    files = {f"file:1/{MODEL_FILE}": content, **{f"file:{WARMUP}/{each}": warmup[each] for each in warmup}}
    name = f"{TEMPORARY}{int(time.time())}-{secrets.token_hex(4)}"
    loading = asyncio.create_task(_load(server, name, as_override(renamed(config, name)), files))
    try:
        await asyncio.shield(loading)
        yield TritonRunner(server, name, signature)
    finally:
        await asyncio.wait([loading])  # an unload that comes before its end has no effect
        await _unload(server, name)


async def _unload(server: ModelServer, name: str) -> None:
    """Unload a temporary model; a failure is logged, and hides no error of the model."""
    try:
        await server.unload(name)
    except RefusedError:
        return  # it was never loaded
    except UnavailableError as error:
        _log.warning("the temporary model %s may be left on Triton: %s", name, error)


async def _load(server: ModelServer, name: str, config: str, files: Mapping[str, bytes]) -> None:
    try:
        await server.load(name, config, files)
    except LateError as error:
        raise FaultError(Fault.TIMEOUT, str(error)) from error
    except RefusedError as error:
        raise FaultError(Fault.NOT_LOADED, str(error)) from error


async def _unload_stale(server: ModelServer) -> None:
    """Unload models of verifications that were killed an hour ago or earlier."""
    for each in await server.index():
        began = each.model.removeprefix(TEMPORARY).partition("-")[0]
        is_temporary = each.model.startswith(TEMPORARY) and began.isdecimal() and each.state == READY
        if is_temporary and int(began) < time.time() - _STALE_SECONDS:
            await server.unload(each.model)


class OnnxRunner(ChildProcess):
    """A model file in a process of its own, limited in memory and time; it runs as in a worker with onnx."""

    def __init__(self, file: Path, seconds: float) -> None:
        super().__init__(multiprocessing.get_context("spawn"), _serve, file)
        self._seconds = seconds

    async def run_single(self, window: Window) -> WindowAnswer:
        """Return the answer to a batch of one."""
        (answer,) = await self.ask([window])
        return answer

    async def run_batched(self, windows: Sequence[Window]) -> list[WindowAnswer]:
        """Return the answers to one batch of all windows, twice."""
        return await self.ask([*windows] * 2)

    async def ask(self, batch: list[Window]) -> list[WindowAnswer]:
        """Return the answers to a batch; none to an empty one, once the model is loaded.

        Raises:
            FaultError: the model cannot be loaded, fails, or takes too long.
        """
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.to_thread(self._answers, batch)
        except TimeoutError as error:
            self.kill()
            raise FaultError(Fault.TIMEOUT, f"the model did not answer within {self._seconds:g} s") from error

    def close(self) -> None:
        """End the process at once."""
        super().close()
        self._reap()

    def _answers(self, batch: list[Window]) -> list[WindowAnswer]:
        connection = self._ensure_started()
        try:
            connection.send(batch)
            answer = connection.recv()
        except (EOFError, OSError) as error:
            detail = f"the process that runs the model died: {self._describe_exit(self._reap())}"
            raise FaultError(Fault.NOT_RUN, detail) from error
        if isinstance(answer, FaultError):
            raise answer
        answers: list[WindowAnswer] = answer
        return answers


@asynccontextmanager
async def open_onnx_runner(file: Path, seconds: float) -> AsyncIterator[OnnxRunner]:
    """Load a model file in a process that is killed at the end.

    Raises:
        FaultError: it cannot be loaded, or not in time.
    """
    with closing(OnnxRunner(file, seconds)) as runner:
        await runner.ask([])
        yield runner


def _serve(connection: Connection, file: Path) -> None:
    """Answer batches until the other end is closed."""
    limit = within_hard_limit(resource.RLIMIT_AS, _MAX_MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    model = None
    with suppress(EOFError, OSError):
        connection.send(None)
        while True:
            batch = connection.recv()
            try:
                model = model or load_model(file)
                connection.send(model.answers(batch))
            except ConfigurationError as error:
                connection.send(FaultError(Fault.NOT_LOADED, str(error)))
            except UnavailableError as error:
                connection.send(FaultError(Fault.NOT_RUN, str(error)))
