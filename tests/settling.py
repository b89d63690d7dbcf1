"""Waiting for what the event loop alone does."""

import asyncio


async def settle() -> None:
    """Wait for 50 ms, and for 25 turns of the event loop, which busy machines may not reach in that time."""
    for _ in range(25):
        await asyncio.sleep(0.002)
