"""The choice between traces that are exported and none."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.installation import how_to_install
from dehusk.streams.worker.tracing.traces import UNTRACED, Traces


@asynccontextmanager
async def open_traces(endpoint: str | None, group: str) -> AsyncIterator[Traces]:
    """Traces that are exported to the collector at an address, over OTLP; None for no traces.

    Raises:
        ConfigurationError: OpenTelemetry is not installed.
    """
    if endpoint is None:
        yield UNTRACED
        return
    try:
        from dehusk.streams.worker.tracing.exporting import (  # noqa: PLC0415 only needed with `--otlp`
            exported_traces,
        )
    except ImportError as error:
        raise ConfigurationError(
            f"OpenTelemetry, which --otlp needs, is not installed: {how_to_install('otlp')}"
        ) from error
    async with exported_traces(endpoint, group) as traces:
        yield traces
