"""Access to the monitoring pages: their token, names and certificate."""

import asyncio
import hmac
import logging
from hashlib import sha256
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.tls import load_certificate, server_context
from dehusk.streams.web.local_pages import is_loopback, own_names_only

_OPEN = {"/healthz", "/livez", "/readyz"}
"""Paths for load balancers and orchestrators, which have no token."""
_REFUSAL = "this page needs `Authorization: Bearer TOKEN`, or in a browser /?token=TOKEN once\n"
_ALTERNATIVE = ", or have --monitoring-token guard them"
CHECK_SECONDS = 10.0
"""Interval at which the files of the certificate are checked."""
_log = logging.getLogger(__name__)


def guards(host: str, token: str | None) -> list[Middleware]:
    """Return what guards all pages: the token if there is one, else names on the loopback interface."""
    if token is not None:
        return [Guard(token).middleware()]
    return [own_names_only(host, "the monitoring pages", _ALTERNATIVE)] if is_loopback(host) else []


class Guard:
    """Guard that admits requests with the token: in a header, a cookie, or the URL of the first page."""

    def __init__(self, token: str) -> None:
        self._token = token
        digest = hmac.digest(token.encode(), b"cookie of the monitoring pages", sha256).hex()
        # browsers send a cookie to all ports of a host, so it is not the token, and has a name for each token
        self._name, self._cookie = f"dehusk-{digest[:8]}", digest[8:]

    def middleware(self) -> Middleware:
        """Return the middleware that refuses requests without the token."""

        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.path in _OPEN or self._has_token(request):
                return await handler(request)
            if request.path == "/" and _same(request.query.get("token", ""), self._token):
                response = await handler(request)
                response.set_cookie(
                    self._name, self._cookie, httponly=True, samesite="Strict", secure=request.secure
                )
                return response
            return web.Response(text=_REFUSAL, status=401, headers={"WWW-Authenticate": "Bearer"})

        return check

    def _has_token(self, request: web.Request) -> bool:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        is_bearer = scheme.lower() == "bearer" and _same(token.strip(), self._token)
        return is_bearer or _same(request.cookies.get(self._name, ""), self._cookie)


def _same(given: str, expected: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode(errors="backslashreplace"), expected.encode())


class Certificate:
    """A certificate and its key, from two files."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Load the files.

        Raises:
            ConfigurationError: they cannot be read, or do not belong together.
        """
        self._files = (certificate, key)
        self._state = self._stat()
        self.context = server_context(*self._files)

    async def follow(self) -> None:
        """Load the files whenever they change, for as long as this runs."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            self.reload()

    def reload(self) -> None:
        """Use changed files for new connections; broken ones are logged once."""
        state = self._stat()
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

    def _stat(self) -> list[tuple[int, int, int] | None]:
        """Return what changes with the files; None for a file that cannot be found."""
        return [_state_of(file) for file in self._files]


def _state_of(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns
