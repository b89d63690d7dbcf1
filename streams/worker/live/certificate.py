"""The certificate of the monitoring pages, which may be renewed while they are served."""

import asyncio
import logging
from pathlib import Path

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.tls import load_certificate, server_context

_CHECK_SECONDS = 10.0
_log = logging.getLogger(__name__)


class Certificate:
    """A certificate and its key, from two files."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read them.

        Raises:
            ConfigurationError: they cannot be read, or do not belong together.
        """
        self._files = (certificate, key)
        self._state = self._look()
        self.context = server_context(*self._files)

    async def follow(self) -> None:
        """Take up the files whenever they change, for as long as this runs."""
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            self._take_up()

    def _take_up(self) -> None:
        """Use the files for new connections if they have changed; broken ones are logged, once."""
        state = self._look()
        if state == self._state:
            return
        self._state = state
        try:
            server_context(*self._files)  # a load that fails would leave the context without any
            load_certificate(self.context, *self._files)
        except ConfigurationError as error:
            _log.warning("the monitoring pages keep their old certificate: %s", error)
        else:
            _log.info("the monitoring pages have the renewed certificate of %s", self._files[0])

    def _look(self) -> list[tuple[int, int, int] | None]:
        """What tells one state of the files from another; None for a file that cannot be found."""
        return [_state_of(file) for file in self._files]


def _state_of(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns
