"""Requests of Kafka's protocol in versions that aiokafka lacks."""

from collections.abc import Mapping
from typing import Self

from aiokafka.protocol.api import RequestStruct, Response
from aiokafka.protocol.types import Schema


class OneVersion(RequestStruct):  # type: ignore[misc] # aiokafka has no types
    """Request in the only version that serves here."""

    API_KEY = API_VERSION = -1
    RESPONSE_TYPE = Response
    SCHEMA = Schema()

    def prepare(self, versions: Mapping[int, tuple[int, int]]) -> Self:
        """Return the request itself, if it is among the versions that a broker knows, by their keys.

        Raises:
            NotImplementedError: it is not.
        """
        lowest, highest = versions.get(self.API_KEY, (0, -1))
        if not lowest <= self.API_VERSION <= highest:
            raise NotImplementedError(
                f"the broker does not know version {self.API_VERSION} of {self.API_KEY}"
            )
        return self
