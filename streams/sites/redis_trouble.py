"""What an error of a Redis means, by its words, and what to do about it."""

import re
from urllib.parse import urlsplit

from dehusk.streams.settings import RedisSettings

_WRAPPINGS = re.compile(
    r"Redis Cluster cannot be connected\. Please provide at least one reachable node: "
    r"|Command # \d+ \(.*?\) of pipeline caused error: |Error running script \(call to \w+\): "
    r"|@user_script: ?\d+: ",
    re.DOTALL,
)
"""What its client and its scripts put around the words of an error."""
_PORT = 6379
_MEANINGS = tuple(
    (re.compile(words, re.IGNORECASE), meaning)
    for words, meaning in (
        (
            "connection refused|connect call failed|no such file",
            "no server listens at {address}: start it, or correct the URL",
        ),
        (
            "name or service not known|no address associated|name resolution",
            "there is no host {host}: correct the URL",
        ),
        ("protocol error", "what answers at {address} is no Redis: correct the port in the URL"),
        (
            "closed by server|connection reset|connection lost",
            "{address} closed the connection: it is being stopped, or is no Redis, or one {other_than_asked}",
        ),
        (
            "certificate_required|certificate required|alert bad certificate|handshake failure",
            "{address} asks for a client's certificate: give --redis-certificate-file and --redis-key-file",
        ),
        (
            "certificate.*mismatch|doesn't match",
            "the certificate of {address} is one of another host: name it as the certificate does",
        ),
        (
            "self-signed certificate|unable to get (local )?issuer",
            "the certificate of {address} is of no authority that is trusted: name the file of its "
            "authority with --redis-ca-file",
        ),
        ("wrong_version_number|record layer failure", "{address} has no TLS: begin the URL with redis://"),
        (
            "called with the client already authenticated|authentication required",
            "it asks for a password: redis[s]://[user]:password@{address}/0",
        ),
        ("invalid username-password|invalid password", "the user or the password in the URL is wrong"),
        ("without any password configured|no password is set", "it has no password: leave it out of the URL"),
        (
            "read.?only replica",
            "{address} is a replica, which is only for reading: give the URL of its primary",
        ),
        (
            "cluster mode is not enabled|cluster support disabled",
            "{address} is no node of a Redis Cluster: leave --redis-cluster out",
        ),
        ("hash slot not served", "{address} is a node of a Redis Cluster {without_its_slots}"),
        ("db index is out of range", "{address} has no database of the number in the URL"),
    )
)


def meaning(said: str, redis: RedisSettings) -> str:
    """What the words of an error mean, and what to do; where they are not known, the words themselves."""
    said = _WRAPPINGS.sub("", said).strip("-( ,').")
    found = next((found for words, found in _MEANINGS if words.search(said)), None)
    return said if found is None else found.format(**_places(redis))


def slowness(redis: RedisSettings) -> str:
    """That no answer came in time."""
    advice = "; one without TLS never answers a rediss:// URL" if _asks_for_tls(redis) else ""
    return f"Redis did not answer within {redis.timeout:g} s (--redis-seconds){advice}"


def is_of_a_cluster(redis: RedisSettings) -> str:
    """That a server is of a cluster, which the settings do not say."""
    return f"{_places(redis)['address']} is a node of a Redis Cluster: give --redis-cluster"


def _places(redis: RedisSettings) -> dict[str, str]:
    """What the texts above say of the settings."""
    url = urlsplit(redis.url)
    host = url.hostname or "localhost"
    named = f"[{host}]" if ":" in host else host
    return {
        "host": host,
        "address": url.path if url.scheme == "unix" else f"{named}:{url.port or _PORT}",
        "other_than_asked": "without TLS (redis://…)" if _asks_for_tls(redis) else "with TLS (rediss://…)",
        "without_its_slots": "that serves no slots" if redis.cluster else "(--redis-cluster)",
    }


def _asks_for_tls(redis: RedisSettings) -> bool:
    return redis.url.startswith("rediss://")
