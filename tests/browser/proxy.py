"""A proxy that leads nowhere: it notes what a browser asks of other machines, and refuses it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

REFUSAL = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@asynccontextmanager
async def recording() -> AsyncIterator[tuple[str, list[str]]]:
    """The address of the proxy, and the first line of each request that reaches it."""
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readline()).decode(errors="replace").strip()
        if line:  # Chromium also opens connections for later
            asked.append(line)
            writer.write(REFUSAL)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
