"""What is served to this machine alone, and under which names."""

import re
from ipaddress import ip_address

_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:]+)(:\d+)?")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_own_name(named: str, host: str) -> bool:
    """Whether a request names a server as no site can that has its own name lead here (DNS rebinding).

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
