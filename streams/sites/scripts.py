"""Lua scripts on a Redis, each call on the node of its key."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dehusk.streams.sites.redis_store import Client

Call = Sequence[bytes | str | int]
"""The script's key and arguments, in its order."""


class Script:
    """A script beside this module."""

    def __init__(self, name: str) -> None:
        self._text = Path(__file__).with_name(name).read_bytes()
        self._sha1 = hashlib.sha1(self._text, usedforsecurity=False).hexdigest()

    async def run(self, client: Client, calls: Sequence[Call], *, raise_on_error: bool = True) -> list[Any]:
        """The answer to each call, in one round trip; or, if none is to be raised, its error.

        Calls that fail are made again, with the script: their server may not know it yet.
        """
        replies = await self._pipeline(client, "EVALSHA", self._sha1, calls, raise_on_error=False)
        failed = [at for at, reply in enumerate(replies) if isinstance(reply, Exception)]
        again = await self._pipeline(
            client, "EVAL", self._text, [calls[at] for at in failed], raise_on_error=raise_on_error
        )
        for at, reply in zip(failed, again, strict=True):
            replies[at] = reply
        return replies

    async def _pipeline(
        self,
        client: Client,
        command: str,
        script: str | bytes,
        calls: Sequence[Call],
        *,
        raise_on_error: bool,
    ) -> list[Any]:
        pipeline = client.pipeline(transaction=False)
        for call in calls:
            pipeline.execute_command(command, script, 1, *call)
        replies: list[Any] = await pipeline.execute(raise_on_error=raise_on_error)
        return replies
