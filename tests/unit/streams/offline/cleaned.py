"""Lines of cleaned pages, as `dehusk clean` writes them."""

from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing

from dehusk.streams.offline.lines import Input, WriteFailure
from dehusk.streams.offline.run import clean_pages, is_page, line_of


async def clean_lines(
    pages: Iterable[Input], pool, labelers, fail: WriteFailure, **more
) -> AsyncIterator[bytes]:
    async with aclosing(clean_pages(iter(pages), pool, labelers, **more)) as results:
        async for page, result in results:
            if is_page(result):
                yield line_of(page, result, fail)
