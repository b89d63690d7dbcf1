"""A hostile page, and inspections in a real process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager

import pytest

from dehusk.schemas.pages import RawPage
from dehusk.streams.inspection.inspection import (
    Inspection,
    Labelers,
    inspect,
    list_choices,
    open_inspector_pool,
)
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.worker_settings import WorkerSettings

HOSTILE = b"""<!DOCTYPE html><html onload=alert(1)><head><title>T&lt;/script>&lt;script>alert(2)</title>
<base href=//evil.test><meta http-equiv=refresh content="0;url=//e"><script>alert(2)</script>
<style>@import url(//evil.test/i.css);p{color:red}</style><link rel=stylesheet href=//evil.test/l.css></head>
<body onload="alert(3)"><h1>&lt;/script>&lt;script>alert(4)&lt;/script> &lt;!-- <b>bold</b></h1>
<p>Text with &lt;img src=x onerror=alert(5)> &amp;lt; \\u003c/script> %%page%% {least} \x00 bytes, ]]>.
<img src=//evil.test/x.png onerror=alert(6) srcset=//evil.test/y.png><img src=data:image/png;base64,AA==>
<svg onload=alert(7)><style>&lt;/style>&lt;script>alert(8)&lt;/script></style><script>alert(8)</script></svg>
<a href="javascript:alert(9)" ping=//evil.test onclick=alert(9)>A link that would run a script</a>
<iframe srcdoc="<script>alert(10)</script>"></iframe><object data=//evil.test/o></object><embed src=//e>
<form action=//evil.test/f><input autofocus onfocus=alert(11)><button formaction=//e>Send</button></form>
<p style="background:url(//evil.test/s.png)" class="x dehusk-block-0">An impostor of another block.</p>
<noscript><p title="</noscript><img src=x onerror=alert()>"></noscript><template><script></script></template>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(12)&gt;"></math>
<!-- a comment --><xmp><script>alert(15)</script></xmp><plaintext></body><script>alert(16)</script>"""

Inspect = Callable[[bytes], AbstractAsyncContextManager[Inspection]]


@pytest.fixture(scope="module")
def pool() -> Iterator[PreparationPool]:
    """A process that works on the pages of all tests of a module."""
    opening = open_inspector_pool(WorkerSettings())
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        yield runner.run(opening.__aenter__())
        runner.run(opening.__aexit__(None, None, None))


@pytest.fixture
def inspecting(pool: PreparationPool) -> Inspect:
    """Opens the inspection of a page by the rules at first, and the models that come with dehusk."""

    @asynccontextmanager
    async def opened(html: bytes) -> AsyncIterator[Inspection]:
        labelers = Labelers(list_choices(WorkerSettings(labeler="rules")))
        page = RawPage("https://example.org/a", html)
        async with aclosing(labelers):
            yield await inspect(page, pool, labelers)

    return opened


@pytest.fixture
def hostile() -> bytes:
    """A page that tries what pages try."""
    return HOSTILE
