"""The commands as tests call them: as processes of their own, or in this one."""

import asyncio
import sys
from pathlib import Path
from typing import IO

from click.testing import CliRunner, Result

from dehusk.streams.cli import cli

DEHUSK = str(Path(sys.executable).with_name("dehusk"))
"""The program."""


async def invoke(*words: object, stdin: IO[bytes] | None = None) -> Result:
    """Run a command in a thread, as it has an event loop of its own; raise what it raises."""
    result = await asyncio.to_thread(CliRunner().invoke, cli, [*map(str, words)], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result
