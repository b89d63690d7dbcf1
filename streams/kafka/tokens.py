"""Logins of Kafka's clients without a password: tokens of OAuth, those signed for AWS, and Kerberos.

Clients work in several threads, each with an event loop of its own, so a token is fetched in a thread beside
them, once for all. Kafka's brokers see none of the credentials that it is fetched with.
"""

import asyncio
import base64
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from http import HTTPStatus
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote_plus, urlencode
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from aiokafka import conn
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaConnectionError, SaslAuthenticationFailed

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.settings import KIB, KafkaSecurity, OAuthSettings
from dehusk.streams.tls import tls_context
from dehusk.streams.wording import how_to_install, without_password

_SECONDS = 10.0
"""Time limit of the server of tokens."""
_RENEWED_AFTER = 0.8
"""Part of a token's life after which another one is fetched."""
_UNTOLD_LIFE = 300.0
"""Life of a token, in seconds, where the server does not tell it."""
_PAUSE_SECONDS = 2.0
"""Time for which a failure holds, as every client tries to connect many times a second."""
_MAX_ANSWER = 256 * KIB
_TOKEN = re.compile(r"[\x21-\x7e]+")
_TRANSIENT = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Token:
    """A token, and how long it is valid from now on, in seconds."""

    text: str
    seconds: float


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc] # aiokafka has no types
    """Provider of a token that is renewed in time, for clients of all threads."""

    def __init__(self, fetch: Callable[[], Token], extensions: Mapping[str, str] | None = None) -> None:
        """Take a function that fetches a token.

        It raises SaslAuthenticationFailed if that is refused, and KafkaConnectionError if the server does not
        answer: errors that aiokafka takes for those of a broker.
        """
        self._fetch = fetch
        self._extensions = dict(extensions or {})
        self._lock = threading.Lock()
        self._token = Token("", 0)
        self._renewed_at = self._expires_at = 0.0
        self._failure: tuple[type[Exception], str] = (KafkaConnectionError, "")
        self._paused_until = 0.0

    async def token(self) -> str:
        """Return a token that is valid."""
        return await asyncio.to_thread(self._current)

    def extensions(self) -> dict[str, str]:
        """Return the SASL extensions that are sent beside the token."""
        return self._extensions

    def _current(self) -> str:
        with self._lock:
            if time.monotonic() >= self._renewed_at:
                self._renew()
            return self._token.text

    def _renew(self) -> None:
        """Fetch another token; while that fails, the last one is used as long as it is valid."""
        if time.monotonic() >= self._paused_until:
            try:
                self._token = self._fetch()
            except (SaslAuthenticationFailed, KafkaConnectionError) as error:
                self._failure = type(error), str(error.args[0])
                self._paused_until = time.monotonic() + _PAUSE_SECONDS
            else:
                now = time.monotonic()
                self._expires_at = now + self._token.seconds
                self._renewed_at = now + _RENEWED_AFTER * self._token.seconds
                return
        if time.monotonic() >= self._expires_at:
            kind, message = self._failure
            raise kind(message)


@cache
def token_provider(security: KafkaSecurity) -> TokenProvider:
    """Return the provider of all clients with a security of the mechanism OAUTHBEARER or AWS_MSK_IAM.

    Raises:
        ConfigurationError: the file of an authority cannot be read, or the package that signs is missing.
    """
    if security.sasl_mechanism == "AWS_MSK_IAM":
        return TokenProvider(_signed_for_aws(security.aws_region or ""))
    oauth = security.oauth or OAuthSettings("")
    opener = build_opener(_NoRedirect, HTTPSHandler(context=tls_context(oauth.ca_file, None, None)))
    return TokenProvider(partial(_fetch, opener.open, security, oauth), dict(oauth.extensions))


def require_kerberos() -> None:
    """Check that aiokafka has the package by which it logs in with Kerberos.

    Raises:
        ConfigurationError: it is not installed, or finds no library of Kerberos.
    """
    if conn.gssapi is None:
        raise ConfigurationError(
            "gssapi, which --sasl-mechanism GSSAPI needs, is not installed, or finds no Kerberos library: "
            f"{how_to_install('kerberos')}, which compiles it with the system's (Debian: libkrb5-dev)"
        )


class _NoRedirect(HTTPRedirectHandler):
    """Handler that takes a redirection for an error: the secret is not sent elsewhere."""

    def redirect_request(self, *_: Any) -> None:  # noqa: ANN401 urllib's
        """Return None, for no further request."""


def _fetch(open_url: Callable[..., Any], security: KafkaSecurity, oauth: OAuthSettings) -> Token:
    """Fetch a token by the grant of client credentials (RFC 6749, 4.4).

    Raises:
        SaslAuthenticationFailed: the server refuses the client.
        KafkaConnectionError: it does not answer, or not as such a server.
    """
    form = {"grant_type": "client_credentials", "scope": oauth.scope, "audience": oauth.audience}
    client = f"{quote_plus(security.username or '')}:{quote_plus(security.password or '')}"
    headers = {
        "Authorization": f"Basic {base64.b64encode(client.encode()).decode()}",
        "Accept": "application/json",
    }
    content = urlencode({name: value for name, value in form.items() if value}).encode()
    server = f"the server of tokens at {without_password(oauth.token_url)}"
    try:
        with open_url(Request(oauth.token_url, content, headers), timeout=_SECONDS) as answer:  # noqa: S310 the option checks the scheme
            return _read_token(answer.read(_MAX_ANSWER))
    except HTTPError as error:
        with error:
            why = f"{server} answers {error.code}{_told_error(error)}"
        if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code in _TRANSIENT:
            raise KafkaConnectionError(why) from error
        raise SaslAuthenticationFailed(
            f"{why}; check --sasl-username, --sasl-password and --sasl-oauth-…"
        ) from None
    except (OSError, HTTPException) as error:
        raise KafkaConnectionError(f"{server} does not answer: {error}") from error
    except (ValueError, RecursionError, TypeError, KeyError):
        raise KafkaConnectionError(f"{server} answers without an access token in JSON") from None


def _read_token(content: bytes) -> Token:
    """Read the answer of a server of tokens.

    Raises:
        ValueError, TypeError, KeyError: it is none.
    """
    answer = json.loads(content)
    text, seconds = answer["access_token"], float(answer.get("expires_in") or _UNTOLD_LIFE)
    if not _TOKEN.fullmatch(text) or not seconds > 0:
        raise ValueError
    return Token(text, seconds)


def _told_error(refused: HTTPError) -> str:
    """Return the error that the answer of a server of tokens tells (RFC 6749, 5.2), if it does."""
    try:
        answer = json.loads(refused.read(_MAX_ANSWER))
        told = ": ".join(str(answer[name]) for name in ("error", "error_description") if name in answer)
    except (OSError, HTTPException, ValueError, RecursionError, TypeError):
        return ""
    return f" ({told[:_SHOWN]})" if told else ""


def _signed_for_aws(region: str) -> Callable[[], Token]:
    """Return the function that signs tokens for AWS MSK, by the credentials that AWS's own tools find.

    Raises:
        ConfigurationError: AWS's signer is not installed.
    """
    try:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # noqa: PLC0415 only needed with AWS_MSK_IAM
    except ImportError as error:
        raise ConfigurationError(
            "aws-msk-iam-sasl-signer-python, which --sasl-mechanism AWS_MSK_IAM needs, is not installed: "
            f"{how_to_install('msk')}"
        ) from error

    def sign() -> Token:
        try:
            text, expires_ms = MSKAuthTokenProvider.generate_auth_token(region)
        except Exception as error:  # AWS's libraries have no common base of what they raise
            raise SaslAuthenticationFailed(f"no token for AWS MSK in {region}: {error}") from error
        return Token(text, expires_ms / 1000 - time.time())

    return sign
