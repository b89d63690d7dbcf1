"""Web pages that a command serves to browsers of this machine: under its own names, with a strict policy."""

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.loopback import is_own_name

HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@asynccontextmanager
async def serving(pages: web.Application, host: str, port: int) -> AsyncIterator[str]:
    """The URL of pages while they are served; port 0 is any free one.

    Raises:
        ConfigurationError: the port is taken, or there is no such interface.
    """
    runner = web.AppRunner(pages, access_log=None)
    await runner.setup()
    try:
        await _listen(web.TCPSite(runner, host, port), f"{host}:{port}")
        bound, chosen = runner.addresses[0][:2]
        yield f"http://{f'[{bound}]' if ':' in bound else bound}:{chosen}/"
    finally:
        await runner.cleanup()


async def _listen(site: web.TCPSite, address: str) -> None:
    try:
        await site.start()
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {address}: {error}; choose another port, 0 for any free one"
        ) from error


def own_names_only(host: str, served: str) -> Middleware:
    """What answers nothing to pages of other names, which may have been made to lead here."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not is_own_name(request.headers.get("Host", ""), host):
            raise web.HTTPMisdirectedRequest(
                text=f"{served} is served under no such name; ask for localhost\n"
            )
        return await handler(request)

    return guard


def page_policy(script: str, *, is_served: bool) -> str:
    """What a browser may do with a page: run its one script, and ask its own server, if it has one."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    allowed = {
        "default-src": "'none'",
        "script-src": f"'sha256-{digest}'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    if is_served:
        allowed["connect-src"] = "'self'"
    return "; ".join(f"{name} {value}" for name, value in allowed.items())


def filled(template: str, parts: dict[str, str]) -> str:
    """A template with its `%%names%%` replaced by parts, which may hold anything."""
    pieces = template.split("%%")
    return "".join(piece if number % 2 == 0 else parts[piece] for number, piece in enumerate(pieces))


def embedded(json: str) -> str:
    """JSON of ASCII alone as it may stand in a `<script>`: nothing in it is a tag or a comment."""
    for character in "<>&":
        json = json.replace(character, f"\\u{ord(character):04x}")
    return json
