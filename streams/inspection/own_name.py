"""Whether a request names a local server by a name that no other site can lead there."""

import re
from ipaddress import ip_address

_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:]+)(:\d+)?")


def is_own_name(named: str, host: str) -> bool:
    """Whether a `Host` is an address, `localhost` or the name that the server listens at."""
    matched = _HOST.fullmatch(named)
    name = matched[1].strip("[]").lower() if matched else ""
    return name in ("localhost", host.strip("[]").lower()) or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
