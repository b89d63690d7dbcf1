"""A client of a Redis, or Redis Cluster, that runs scripts and explains errors."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.connection import URL_QUERY_ARGUMENT_PARSERS
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    MovedError,
    NoPermissionError,
    RedisClusterException,
    RedisError,
    ResponseError,
)
from redis.exceptions import TimeoutError as RedisTimeoutError

from dehusk.schemas.errors import ConfigurationError, DehuskError, UnavailableError
from dehusk.streams.settings import MIB, RedisSettings
from dehusk.streams.tls import tls_context
from dehusk.streams.wording import without_password

Call = Sequence[bytes | str | int]
"""The key and the arguments of a script, in its order."""
HOW_TO_BOUND = "set maxmemory to what it may take, and maxmemory-policy to volatile-lru"
"""Advice that makes Redis evict the least recently used sites, each as a whole."""
_CHECKED_KEYS = tuple(f"dehusk:check:{{{number}}}" for number in range(256))
"""Keys of no site; each server of a cluster has some of them."""
_KEEPS_ALL = "noeviction"
_REFUSALS = (AuthenticationError, AuthorizationError, NoPermissionError)
_NO_MEMORY = "used memory > 'maxmemory'"
_REFUSED = re.compile("can't run this command|ACL failure in script|Cluster mode is not enabled")
"""Words of Redis in an error, anywhere in its text; the second ones are of 7.2 and newer."""
_WRAPPINGS = re.compile(
    r"Redis Cluster cannot be connected\. Please provide at least one reachable node: "
    r"|Command # \d+ \(.*?\) of pipeline caused error: |Error running script \(call to \w+\): "
    r"|@user_script: ?\d+: |ACL failure in script: | script: [0-9a-f]{40}, on @user_script:\d+",
    re.DOTALL,
)
"""Text that the client and Redis add to an error."""
_PORT = 6379
_DATABASE = re.compile(r"(/\d*)?")
"""Path of a URL of Redis."""
_TEXT_OPTIONS = frozenset({"client_name", "lib_name", "lib_version", "password", "username"})
_TLS_PREFIX = "ssl_"
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
            "alert certificate (expired|revoked|unknown)|alert unknown ca",
            "{address} does not trust --redis-certificate-file: give one that has not expired, of an "
            "authority that the server knows",
        ),
        (
            "certificate has expired",
            "the certificate of {address} has expired: have it signed anew, and the server load it",
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
        (
            "no permissions to access (a key|one of the keys)",
            "the user in the URL may not use the keys of dehusk: ACL SETUSER <user> ~dehusk:*",
        ),
        ("db index is out of range", "{address} has no database of the number in the URL"),
    )
)


class Script:
    """A Lua script in a file of this folder."""

    def __init__(self, name: str) -> None:
        self.text = Path(__file__).with_name(name).read_bytes()
        self.sha1 = hashlib.sha1(self.text, usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class ServerUse:
    """Bytes that servers hold, and lookups since they started."""

    memory: int
    most_memory: int
    """0 if one of them has no limit, or hides it."""
    hits: int
    """Lookups that found something."""
    misses: int


class RedisClient:
    """A client of a Redis, or Redis Cluster, that connects on first use.

    It tries once more, at once: a pooled connection may have been closed by a restart.
    """

    def __init__(self, settings: RedisSettings) -> None:
        """Create the client.

        Raises:
            ConfigurationError: the URL is none of a Redis, or a file of TLS cannot be read.
        """
        self._settings = settings
        self.raw = _raw_client(settings)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.raw.aclose()

    @contextmanager
    def errors(self, task: str) -> Iterator[None]:
        """Raise errors of the client as dehusk's own.

        `task` is what Redis may refuse, e.g. `to count pages`.

        Raises:
            UnavailableError: Redis did not answer, or has no memory left.
            ConfigurationError: Redis refuses the user or the commands.
        """
        try:
            yield
        except _REFUSALS as error:
            raise ConfigurationError(
                f"Redis refuses {task}: {explain(str(error), self._settings)}"
            ) from error
        except (TimeoutError, RedisTimeoutError) as error:
            raise UnavailableError(explain_timeout(self._settings)) from error
        except (RedisError, RedisClusterException, OSError) as error:
            raise _translate(error, self._settings, task) from error

    @asynccontextmanager
    async def in_time(self, task: str) -> AsyncIterator[None]:
        """Bound the time of a round trip. Raises what `errors` raises."""
        with self.errors(task):
            async with asyncio.timeout(self._settings.timeout):
                yield

    async def run(self, script: Script, calls: Sequence[Call], *, raise_on_error: bool = True) -> list[Any]:
        """Run a script once per call, on the node of its key, and return the answers.

        The calls are one round trip. Those that fail are made again, with the script's text: their server may
        not know it yet. If they fail again, the first error is raised, or each stands for its answer.
        After a raised error connections are made anew: they may lead to a server that became a replica.
        """
        try:
            replies = await self._pipeline("EVALSHA", script.sha1, calls, raise_on_error=False)
            failed = [index for index, reply in enumerate(replies) if isinstance(reply, Exception)]
            retried = [calls[index] for index in failed]
            new_replies = await self._pipeline("EVAL", script.text, retried, raise_on_error=raise_on_error)
        except ResponseError:
            await self._disconnect_idle()
            raise
        for index, reply in zip(failed, new_replies, strict=True):
            replies[index] = reply
        return replies

    async def check_whole(self) -> None:
        """Look up keys that a node of a Redis Cluster refuses, if it is taken for a Redis that has all."""
        if isinstance(self.raw, Redis):
            pipeline = self.raw.pipeline(transaction=False)
            for key in _CHECKED_KEYS:
                pipeline.hget(key, "")
            await pipeline.execute()

    async def checked_keys(self) -> list[str]:
        """Return one of the checked keys for each server."""
        if isinstance(self.raw, Redis):
            return [_CHECKED_KEYS[0]]
        await self.raw.initialize()
        return list({self.raw.get_node_from_key(key): key for key in _CHECKED_KEYS}.values())

    async def memory(self) -> list[Mapping[str, Any]]:
        """Return the section `memory` of INFO of each server."""
        return await self._info("memory")

    async def ping(self) -> None:
        """Send PING to each server that counts."""
        if isinstance(self.raw, Redis):
            await self.raw.ping()
        else:
            await self.raw.ping(target_nodes=RedisCluster.PRIMARIES)

    async def use(self) -> ServerUse:
        """Return the use of all servers together."""
        return server_use(await self.memory(), await self._info("stats"))

    async def _pipeline(
        self, command: str, script: str | bytes, calls: Sequence[Call], *, raise_on_error: bool
    ) -> list[Any]:
        pipeline = self.raw.pipeline(transaction=False)
        for call in calls:
            pipeline.execute_command(command, script, 1, *call)
        replies: list[Any] = await pipeline.execute(raise_on_error=raise_on_error)
        return replies

    async def _disconnect_idle(self) -> None:
        """Close unused connections; the client of a cluster follows its servers by itself."""
        if isinstance(self.raw, Redis):
            await self.raw.connection_pool.disconnect(inuse_connections=False)

    async def _info(self, section: str) -> list[Mapping[str, Any]]:
        if isinstance(self.raw, Redis):
            return [await self.raw.info(section)]
        answers = await self.raw.info(section, target_nodes=RedisCluster.PRIMARIES)
        return list(answers.values()) if len(self.raw.get_primaries()) > 1 else [answers]


def explain(text: str, redis: RedisSettings) -> str:
    """Return the cause and the remedy of an error; its own text if they are not known."""
    text = _WRAPPINGS.sub("", text).strip("-( ,'\").")
    meaning = next((meaning for words, meaning in _MEANINGS if words.search(text)), None)
    return text if meaning is None else meaning.format(**_placeholders(redis))


def explain_timeout(redis: RedisSettings) -> str:
    """Return the message for an answer that did not come in time."""
    advice = "; one without TLS never answers a rediss:// URL" if _asks_for_tls(redis) else ""
    return f"Redis did not answer within {redis.timeout:g} s (--redis-seconds){advice}"


def server_use(memory: Sequence[Mapping[str, object]], stats: Sequence[Mapping[str, object]]) -> ServerUse:
    """Return the use of all servers, from the sections `memory` and `stats` of INFO of each."""
    limits = [_number(server, "maxmemory") for server in memory]
    return ServerUse(
        sum(_number(server, "used_memory") for server in memory),
        sum(limits) if all(limits) else 0,
        sum(_number(server, "keyspace_hits") for server in stats),
        sum(_number(server, "keyspace_misses") for server in stats),
    )


def memory_advice(server: Mapping[str, object]) -> str | None:
    """Return settings to change, from the section `memory` of INFO; None if there are none.

    A server that hides its settings is taken to be set by those who run it.
    """
    limit, policy = server.get("maxmemory"), server.get("maxmemory_policy")
    if not isinstance(limit, int):
        return None
    if limit == 0:
        return f"Redis has no maxmemory: it grows with every new site; {HOW_TO_BOUND}"
    if policy == _KEEPS_ALL:
        return (
            f"Redis has {limit / MIB:,.0f} MiB and forgets no site when they are full: then pages go "
            f"without statistics; {HOW_TO_BOUND}"
        )
    return None


def _raw_client(settings: RedisSettings) -> Redis | RedisCluster:
    kind = RedisCluster if settings.cluster else Redis
    try:
        url = urlsplit(settings.url)
        if not _DATABASE.fullmatch(url.path) and settings.url.startswith("redis"):
            raise ValueError  # noqa: TRY301 the client would take the database 0
        if refused := [name for name in parse_qs(url.query, keep_blank_values=True) if not _is_option(name)]:
            names = ", ".join(refused)
            advice = f"no option of these may be in the URL of a Redis: {names}"
            raise ConfigurationError(f"{without_password(settings.url)} cannot be used: {advice}")
        client = kind.from_url(
            settings.url,
            retry=Retry(NoBackoff(), 1),
            socket_timeout=settings.timeout,
            socket_connect_timeout=settings.timeout,
            **_tls_options(settings),
        )
        if isinstance(client, Redis):
            pool = client.connection_pool
            pool.connection_class(**pool.connection_kwargs)  # the first one to refuse parameters of the URL
    except RedisClusterException as error:
        raise ConfigurationError(
            f"{without_password(settings.url)} is no URL of a Redis Cluster: it has the database 0 alone"
        ) from error
    except (AttributeError, TypeError, ValueError, RedisError):
        shown = without_password(settings.url)
        advice = "redis[s]://[user:password@]host[:port][/number], with %XX for what has a meaning in a URL"
        raise ConfigurationError(f"{shown} is no URL of a Redis: {advice}") from None  # it may hold secrets
    return client


def _is_option(name: str) -> bool:
    """Return True if the client takes the option as the text that a URL has, or converts it."""
    return name in URL_QUERY_ARGUMENT_PARSERS or name in _TEXT_OPTIONS or name.startswith(_TLS_PREFIX)


def _tls_options(settings: RedisSettings) -> dict[str, Any]:
    files = (settings.ca_file, settings.certificate_file, settings.key_file)
    tls_context(*files)
    names = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
    return {name: str(file) for name, file in zip(names, files, strict=True) if file}


def _translate(error: Exception, settings: RedisSettings, task: str) -> DehuskError:
    """Return dehusk's error for one of the client, of Redis, or of a script."""
    text = str(error)
    if isinstance(error.__cause__, _REFUSALS):
        return ConfigurationError(f"Redis refuses {task}: {explain(str(error.__cause__), settings)}")
    if _NO_MEMORY in text:
        return UnavailableError(f"Redis has no memory left (OOM): {HOW_TO_BOUND}")
    if isinstance(error, MovedError) and not settings.cluster:
        address = _placeholders(settings)["address"]
        return ConfigurationError(
            f"Redis refuses {task}: {address} is a node of a Redis Cluster: give --redis-cluster"
        )
    if _REFUSED.search(text):
        return ConfigurationError(f"Redis refuses {task}: {explain(text, settings)}")
    return UnavailableError(f"Redis does not answer: {explain(text, settings)}")


def _placeholders(redis: RedisSettings) -> dict[str, str]:
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


def _number(server: Mapping[str, object], name: str) -> int:
    value = server.get(name)
    return value if isinstance(value, int) else 0
