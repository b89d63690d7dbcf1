"""Web pages that a command serves to browsers of this machine, under its own names, with a strict policy."""

import asyncio
import re
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from importlib.resources import files
from ipaddress import ip_address

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from dehusk.schemas.errors import ConfigurationError

MAX_CONNECTIONS = 100
"""Open connections from which on the oldest one without a request is closed for a new one."""
_HANDSHAKE_SECONDS = 5.0
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:]+)(:\d+)?")


def is_loopback(host: str) -> bool:
    """Return True if only this machine reaches the address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_own_name(named: str, host: str) -> bool:
    """Return True if a request names a server as no other site can, against DNS rebinding.

    Args:
        named: the header `Host` of the request, with or without a port.
        host: where the server listens. On the loopback interface, its names are `localhost` and addresses of
            the interface; elsewhere, any address.
    """
    matched = _HOST.fullmatch(named)
    name = matched[1].strip("[]").lower() if matched else ""
    if name in ("localhost", host.strip("[]").lower()):
        return True
    return is_loopback(name) if is_loopback(host) else _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@asynccontextmanager
async def serving(
    pages: web.Application,
    host: str,
    port: int,
    *,
    tls: ssl.SSLContext | None = None,
    advice: str = "choose another port, 0 for any free one",
) -> AsyncIterator[str]:
    """Serve pages, and yield their URL; port 0 is any free one.

    Connections are bounded in number, so that silent ones do not take all files that this process may open;
    those that have yet to agree on TLS are bounded in time.

    Raises:
        ConfigurationError: the port is taken, or there is no such interface; with the advice.
    """
    entrance = _Entrance(pages)
    runner = web.AppRunner(pages, access_log=None)
    await runner.setup()
    try:
        with listening(f"{host}:{port}", advice):
            listener = await asyncio.get_running_loop().create_server(
                lambda: entrance.admit(runner.server),
                host,
                port,
                ssl=tls,
                ssl_handshake_timeout=_HANDSHAKE_SECONDS if tls else None,
            )
        try:
            bound, chosen = listener.sockets[0].getsockname()[:2]
            yield f"{'https' if tls else 'http'}://{f'[{bound}]' if ':' in bound else bound}:{chosen}/"
        finally:
            listener.close()
    finally:
        await runner.cleanup()


class _Entrance:
    """Entrance of an application's server, which is to answer others whoever holds connections open."""

    def __init__(self, pages: web.Application) -> None:
        self._busy: set[asyncio.BaseProtocol] = set()
        pages.middlewares.insert(0, self._middleware())

    def admit(self, server: web.Server | None) -> asyncio.Protocol:
        """Return the protocol of a new connection; for it, the oldest without a request may be closed."""
        assert server is not None  # noqa: S101 it is set up
        idle = [each for each in server.connections if each not in self._busy]
        for oldest in idle[: max(len(server.connections) - MAX_CONNECTIONS + 1, 0)]:
            if oldest.transport is not None:
                oldest.transport.abort()  # not close(), which waits for those who do not read
        return server()

    def _middleware(self) -> Middleware:
        @web.middleware
        async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
            self._busy.add(request.protocol)
            try:
                return await handler(request)
            finally:
                self._busy.discard(request.protocol)

        return note


@contextmanager
def listening(address: str, advice: str) -> Iterator[None]:
    """Have errors of listening name the address, and say what to do.

    Raises:
        ConfigurationError: in place of an `OSError` or `UnicodeError`.
    """
    try:
        yield
    except (OSError, UnicodeError) as error:  # the latter of a name that IDNA cannot encode
        raise ConfigurationError(f"cannot listen on {address}: {error}; {advice}") from error


def own_names_only(host: str, served: str, alternative: str = "") -> Middleware:
    """Return what refuses requests by other names, which may have been made to lead here.

    Args:
        host: where the server listens.
        served: the pages, for the text of the refusal.
        alternative: what else than another name helps, for that text.
    """

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        named = request.headers.get("Host")
        if named is not None and not is_own_name(named, host):  # all browsers name one
            raise web.HTTPMisdirectedRequest(
                text=f"no such name leads to {served}; ask for localhost{alternative}\n"
            )
        return await handler(request)

    return guard


AddHeaders = Callable[[web.Request, web.StreamResponse], Awaitable[None]]
"""Handler of `on_response_prepare`."""


def restrict_browsers(policy: str, *, caching: str = "no-store") -> AddHeaders:
    """Return what adds a content security policy, and headers that keep other sites out, to responses."""
    headers = _HEADERS | {
        "Cache-Control": caching,
        "Content-Security-Policy": f"{policy}; frame-ancestors 'none'",
    }

    async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
        for name, value in headers.items():
            response.headers.setdefault(name, value)

    return add_headers


_FRAME, _SHARED_STYLE, _SHARED_SCRIPT = (
    files(__package__).joinpath(f"single_page.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
)


class SinglePage:
    """A page in one file of HTML, with the template of its body, a style and scripts from a package.

    The scripts make one, in their order; without names, there is one of the page's name.
    """

    def __init__(self, package: str, name: str, title: str, scripts: Sequence[str] = ()) -> None:
        folder = files(package)
        body, style = (folder.joinpath(f"{name}.{kind}").read_text("utf-8") for kind in ("html", "css"))
        self._template = _FRAME.replace("%%title%%", title).replace("%%body%%", body)
        script = "\n".join(folder.joinpath(f"{each}.js").read_text("utf-8") for each in (scripts or (name,)))
        self._style, self._script = _SHARED_STYLE + style, _SHARED_SCRIPT + script
        self.restrict = restrict_browsers(page_policy(self._script, is_served=True))
        """Handler of `on_response_prepare`: browsers run the page's own script alone, and keep nothing."""

    def html(self, *, is_served: bool, **parts: str) -> str:
        """Return the page, with parts of its template."""
        policy = page_policy(self._script, is_served=is_served)
        return fill(self._template, {"policy": policy, "style": self._style, "script": self._script, **parts})


def page_policy(script: str, *, is_served: bool) -> str:
    """Return the content security policy: a page runs its one script, and may ask its own server, if any."""
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


def fill(template: str, parts: dict[str, str]) -> str:
    """Replace the `%%names%%` of a template by parts, which may hold anything."""
    pieces = template.split("%%")
    return "".join(piece if number % 2 == 0 else parts[piece] for number, piece in enumerate(pieces))


def embed(json: str) -> str:
    """Escape JSON of ASCII alone for a `<script>`: nothing in it is a tag or a comment."""
    for character in "<>&":
        json = json.replace(character, f"\\u{ord(character):04x}")
    return json
