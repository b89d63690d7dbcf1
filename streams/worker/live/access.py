"""Who may see the monitoring pages, and what browsers may do with them."""

import hmac
from hashlib import sha256

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from dehusk.streams.loopback import is_loopback, is_own_name

_OPEN = {"/healthz", "/livez", "/readyz"}
"""For load balancers and orchestrators, which have no token."""
_REFUSAL = "this page needs `Authorization: Bearer TOKEN`, or in a browser /?token=TOKEN once\n"
_FOREIGN_NAME = (
    "the monitoring pages of this machine are served under no such name; ask for localhost, "
    "or have --monitoring-token guard them\n"
)
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def guards(host: str, token: str | None) -> list[Middleware]:
    """What stands before all pages: by the token if there is one, else on the loopback interface by names."""
    if token is not None:
        return [Guard(token).middleware()]
    return [_refuse_foreign_names(host)] if is_loopback(host) else []


class Guard:
    """Lets those in who have the token: in a header, a cookie, or the URL of the first page."""

    def __init__(self, token: str) -> None:
        self._token = token
        digest = hmac.digest(token.encode(), b"cookie of the monitoring pages", sha256).hex()
        # browsers send a cookie to all ports of a host, so it is not the token, and has a name for each token
        self._name, self._cookie = f"dehusk-{digest[:8]}", digest[8:]

    def middleware(self) -> Middleware:
        """What stands before all pages."""

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


async def restrict(_: web.Request, response: web.StreamResponse) -> None:
    """Have browsers load nothing from elsewhere, and show no page inside another one."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)


def _refuse_foreign_names(host: str) -> Middleware:
    """Refuses pages of other sites whose names were made to lead to this machine."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        named = request.headers.get("Host")
        if named is None or is_own_name(named, host):  # all browsers name one
            return await handler(request)
        return web.Response(text=_FOREIGN_NAME, status=421)

    return check


def _same(given: str, expected: str) -> bool:
    """Compare in a time that does not tell how much of it is right."""
    return hmac.compare_digest(given.encode(errors="backslashreplace"), expected.encode())
