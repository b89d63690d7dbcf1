"""How long to wait between two trials of something that may work later."""

import asyncio
import random

_FIRST = 0.05
_LONGEST = 5.0


async def back_off(trial: int) -> None:
    """Wait after the trial of this number, counted from 0: twice as long each time, up to five seconds."""
    await asyncio.sleep(min(_LONGEST, _FIRST * 2 ** min(trial, 16)) * random.uniform(0.5, 1.0))  # noqa: S311 jitter
