"""The labeler on a Triton server: one request per page, so that Triton merges the pages of all workers."""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from dehusk.inference.labelers.batching import Window, WindowAnswer, join, windows
from dehusk.inference.labelers.labeler import Activity
from dehusk.inference.labelers.signature import (
    SIGNATURE_KEY,
    Signature,
    Tensor,
    names_of,
    signature_of,
    unknown_signature,
)
from dehusk.inference.labelers.triton_client import RefusedError, TritonClient, ready_in, trusted_of
from dehusk.schemas.errors import ConfigurationError, LateError, NotEncodedError, PageError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import EncodedPage, Encoding, ModelVersion, Prediction

Answer = TypeVar("Answer")

FOLLOW_SECONDS = 2.0
"""Age at which a labeler that is given no version asks again which one is trusted."""
CONCURRENT_REQUESTS = 32
"""Limit of concurrent requests of one labeler: one full batch runs while the next one forms."""


class TritonLabeler:
    """Labeler on a Triton server, to which it connects at the first call.

    Without a version, it labels with the trusted one that Triton names or, where it names none, the newest,
    and follows when that changes.
    """

    def __init__(
        self, address: str, model: str, version: str = "", timeout: float = 20.0, option: str = ""
    ) -> None:
        """Take the server, the model, and the seconds of a call, with the option that sets them."""
        self._client = TritonClient(address, timeout, option)
        self._model = model
        self._version = version
        self._served = ""
        """Version that labels: the one asked for, or the trusted one when the signature was last checked."""
        self._checked_at = 0.0
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
            if self._signature is None or self._has_to_follow:
                self._signature = await self._check()
            answers = await asyncio.gather(*map(self._label, pages), return_exceptions=True)
            return [_raised(answer) for answer in answers]
        except (UnavailableError, ConfigurationError):
            await self._check_version()
            raise

    async def activity(self) -> Activity:
        """Return Triton's totals for all versions of the model, or for the one that is asked for."""
        try:
            each = await self._call(self._client.statistics(self._model, self._version))
        except PageError as error:
            raise ConfigurationError(str(error)) from error
        return Activity(
            requests=sum(version.inference_count for version in each),
            batches=sum(version.execution_count for version in each),
            queue_seconds=sum(version.inference_stats.queue.ns for version in each) / 1e9,
            errors=sum(version.inference_stats.fail.count for version in each),
        )

    async def close(self) -> None:
        """Close the connection."""
        await self._client.close()

    @property
    def _has_to_follow(self) -> bool:
        return not self._version and time.monotonic() > self._checked_at + FOLLOW_SECONDS

    async def _label(self, page: EncodedPage) -> Prediction | Broken:
        signature, served = self._signature or await self._check(), self._served
        try:
            answers = [await self._infer(window, signature) for window in windows(page, signature)]
        except (ConfigurationError, UnavailableError) as error:
            if self._version or isinstance(error, LateError):
                raise
            await self._check()
            if self._served == served:
                raise
            return await self._label(page)  # the version was replaced by another one
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
        async with self._requests:
            answer, version = await self._call(
                self._client.infer(self._model, signature, window, self._served)
            )
        if version not in self._checked:
            await self._check()
            self._checked.add(version)
        return answer, version

    async def _check(self) -> Signature:
        """Return the signature of the model served now; asked again where it may have been swapped meanwhile.

        Raises:
            ConfigurationError: it has none of those encoded here, or other tensors than it declares.
        """
        try:
            return await self._read_signature()
        except ConfigurationError:
            return await self._read_signature()

    async def _read_signature(self) -> Signature:
        """Return the signature of the model; raises what `_check` does, and where a swap comes in between."""
        try:
            metadata = await self._call(self._client.metadata(self._model, self._version))
            parameters = await self._call(self._client.parameters(self._model, self._version))
        except PageError as error:
            raise ConfigurationError(str(error)) from error
        model = f"model {self._model!r} at {self._client.address}"
        declared = parameters.get(SIGNATURE_KEY, "none")
        signature = signature_of(declared)
        if signature is None:
            raise ConfigurationError(unknown_signature(model, declared))
        tensors = {Tensor(each.name, each.datatype) for each in (*metadata.inputs, *metadata.outputs)}
        if tensors != {*signature.request, *signature.answer}:
            raise ConfigurationError(
                f"{model} declares the signature {declared!r} and has other tensors: {names_of(tensors)}"
            )
        self._signature = signature
        self._served = self._version or trusted_of(parameters, metadata.versions)
        self._checked.add(self._served)
        self._checked_at = time.monotonic()
        return signature

    async def _check_version(self) -> None:
        """Check that Triton serves the version asked for, if it serves any.

        Raises:
            ConfigurationError: it serves others instead.
        """
        served = await self._served_versions() if self._version else []
        if served and self._version not in served:
            raise ConfigurationError(
                f"Triton at {self._client.address} serves version {', '.join(served)} of model "
                f"{self._model!r}, and not version {self._version}, which it is asked for"
            )

    async def _served_versions(self) -> list[str]:
        """Return the versions of the model that are ready; none if Triton does not answer."""
        try:
            return ready_in(await self._call(self._client.index()), self._model)
        except UnavailableError:
            return []

    async def _call(self, answer: Awaitable[Answer]) -> Answer:
        """Return an answer.

        Raises:
            ConfigurationError: Triton serves no such model.
            PageError: the request is wrong.
            UnavailableError: Triton cannot answer it now.
        """
        try:
            return await answer
        except RefusedError as error:
            match error.status:
                case "NOT_FOUND":
                    raise
                case "INVALID_ARGUMENT":
                    raise PageError(BrokenReason.REJECTED_BY_MODEL, str(error)) from error
                case _:
                    raise UnavailableError(str(error)) from error


def _raised(answer: Prediction | Broken | BaseException) -> Prediction | Broken:
    if isinstance(answer, BaseException):
        raise answer
    return answer
