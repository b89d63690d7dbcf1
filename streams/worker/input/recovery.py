"""Faust's recovery, which seeks to the committed offsets after a rebalance and has partitions read."""

import logging
from typing import Any

from faust.tables import TableManager
from faust.tables.recovery import Recovery


class PatientRecovery(Recovery):
    """Recovery that waits for Kafka without limit.

    Faust takes a wait that lasts too long for the end of the service, and would never read again.
    """

    logger = logging.getLogger("faust")

    async def _wait(self, coro: Any, timeout: Any = None) -> None:  # noqa: ANN401, ARG002, ASYNC109 Faust's
        await super()._wait(coro)


class NoTables(TableManager):
    """Manager of no tables, with this recovery."""

    logger = logging.getLogger("faust")

    @property
    def recovery(self) -> Recovery:
        """The recovery, made once."""
        if self._recovery is None:
            self._recovery = PatientRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return self._recovery
