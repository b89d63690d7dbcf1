"""Who may have pages inspected: nobody on behalf of another site, and nobody unasked from elsewhere."""

from urllib.parse import urlsplit

from aiohttp import web

from dehusk.streams.loopback import is_loopback
from dehusk.streams.worker.settings import MonitoringSettings

_OWN = frozenset(("same-origin", "none"))
"""What browsers say of requests that come from these pages, or from their user."""


def why_off(settings: MonitoringSettings) -> str | None:
    """Why no pages can be inspected; None where they can."""
    if not settings.inspector:
        return "--no-inspector is set"
    if settings.token is None and not is_loopback(settings.host):
        return f"everyone who reaches {settings.host} could use it; --monitoring-token has it ask for a token"
    return None


def require_same_origin(request: web.Request) -> None:
    """See that no page of another site asks.

    Raises:
        web.HTTPForbidden: one does, as its browser says.
    """
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    is_own = site is None or (site in _OWN and (request.method != "POST" or site == "same-origin"))
    if origin is not None and site is None:  # as browsers say to plain HTTP elsewhere than on their machine
        is_own = urlsplit(origin).netloc == request.headers.get("Host")
    if not is_own:
        raise web.HTTPForbidden(text="another site may not have pages inspected\n")
