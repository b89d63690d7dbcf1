"""Tokens as clients are given them; a real server and a real broker are those of the integration tests."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.request import build_opener

import pytest
from aiokafka.errors import KafkaConnectionError, SaslAuthenticationFailed

from dehusk.streams.kafka import tokens
from dehusk.streams.kafka.options import client_options
from dehusk.streams.kafka.tokens import Token, TokenProvider, token_provider
from dehusk.streams.settings import KafkaSecurity, KafkaSettings, OAuthSettings


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time as providers see it, in seconds; it goes on where a test says so."""
    time = [1000.0]
    monkeypatch.setattr(tokens, "time", SimpleNamespace(monotonic=lambda: time[0]))
    return time


class Fetches:
    """Gives tokens of 100 seconds, or the error that a test sets, and counts how often it was asked."""

    def __init__(self) -> None:
        self.count = 0
        self.error: Exception | None = None

    def __call__(self) -> Token:
        self.count += 1
        if self.error is not None:
            raise self.error
        return Token(f"token-{self.count}", 100)


async def test_a_token_is_fetched_anew_before_it_expires(now: list[float]) -> None:
    fetches = Fetches()
    provider = TokenProvider(fetches)
    assert [await provider.token(), await provider.token()] == ["token-1"] * 2
    now[0] += 79
    assert await provider.token() == "token-1"
    now[0] += 2
    assert await provider.token() == "token-2"
    assert fetches.count == 2


@pytest.mark.parametrize("kind", [KafkaConnectionError, SaslAuthenticationFailed])
async def test_a_token_is_used_to_its_end_while_there_is_no_other(
    now: list[float], kind: type[Exception]
) -> None:
    fetches = Fetches()
    provider = TokenProvider(fetches)
    await provider.token()
    fetches.error = kind("it is away")
    now[0] += 90
    assert await provider.token() == "token-1"
    now[0] += 11
    for _ in range(3):
        with pytest.raises(kind, match="it is away"):
            await provider.token()
    assert fetches.count == 3, "a failure holds for a moment, as clients try again at once"
    fetches.error = None
    now[0] += 3
    assert await provider.token() == "token-4"


async def test_clients_of_one_cluster_share_a_token() -> None:
    security = KafkaSecurity(
        "SASL_SSL", "OAUTHBEARER", "me", "secret", oauth=OAuthSettings("https://a/", extensions=(("a", "b"),))
    )
    first, second = (client_options(KafkaSettings(security=security)) for _ in range(2))
    assert first["sasl_oauth_token_provider"] is second["sasl_oauth_token_provider"]
    assert first["sasl_oauth_token_provider"].extensions() == {"a": "b"}
    assert first["sasl_mechanism"] == "OAUTHBEARER"
    assert "secret" not in str(first)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))  # else the connection is reset
        status, body, headers = self.server.answer  # type: ignore[attr-defined]
        self.send_response(status)
        for name, value in {"Location": "/elsewhere", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None: ...


@contextmanager
def serving(status: int, body: bytes, headers: dict[str, str]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.answer = status, body, headers  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def fetch(status: int, body: object, headers: dict[str, str] | None = None) -> Token:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    with serving(status, content, headers or {}) as url:
        security = KafkaSecurity("SASL_SSL", "OAUTHBEARER", "me", "not-to-be-told", oauth=OAuthSettings(url))
        assert security.oauth is not None
        return tokens._fetch(build_opener(tokens._NoRedirect).open, security, security.oauth)


@pytest.mark.parametrize(
    ("answer", "token"),
    [
        ({"access_token": "a.b.c", "expires_in": 7}, Token("a.b.c", 7)),
        ({"access_token": "a", "expires_in": "60"}, Token("a", 60)),
        ({"access_token": "a", "token_type": "Bearer"}, Token("a", 300)),
    ],
)
def test_what_the_server_gives_is_read(answer: object, token: Token) -> None:
    assert fetch(200, answer) == token


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (200, b"", KafkaConnectionError, "without an access token"),
        (200, b"[1]", KafkaConnectionError, "without an access token"),
        (200, b"[" * 100_000, KafkaConnectionError, "without an access token"),
        (200, {"access_token": None}, KafkaConnectionError, "without an access token"),
        (200, {"access_token": "a\x01auth=b"}, KafkaConnectionError, "without an access token"),
        (200, {"access_token": "a", "expires_in": -1}, KafkaConnectionError, "without an access token"),
        (200, {"access_token": "a", "expires_in": "soon"}, KafkaConnectionError, "without an access token"),
        (401, {"error": "invalid_client"}, SaslAuthenticationFailed, r"answers 401 \(invalid_client\)"),
        (403, b"<html>", SaslAuthenticationFailed, "answers 403; check"),
        (302, b"", SaslAuthenticationFailed, "answers 302"),
        (429, b"", KafkaConnectionError, "answers 429"),
        (503, {"error": ["x"]}, KafkaConnectionError, "answers 503"),
    ],
)
def test_what_is_no_token_is_named(status: int, body: object, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as raised:
        fetch(status, body)
    assert "not-to-be-told" not in str(raised.value)


@pytest.mark.parametrize(("status", "kind"), [(400, SaslAuthenticationFailed), (503, KafkaConnectionError)])
def test_an_error_whose_answer_is_cut_off_is_named(status: int, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=f"answers {status}"):
        fetch(status, b'ff\r\n{"error', {"Transfer-Encoding": "chunked"})


def test_a_server_that_is_away_is_unavailable() -> None:
    with serving(200, b"", {}) as url:
        pass
    oauth = OAuthSettings(url)
    with pytest.raises(KafkaConnectionError, match="does not answer"):
        tokens._fetch(build_opener().open, KafkaSecurity(), oauth)


async def test_aws_own_signer_signs_without_asking_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aws_msk_iam_sasl_signer", reason="the extra msk is not installed")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-to-be-told")
    security = KafkaSecurity("SASL_SSL", "AWS_MSK_IAM", aws_region="eu-west-1")
    token = await token_provider(security).token()
    assert token == await token_provider(security).token()
    assert "not-to-be-told" not in token
