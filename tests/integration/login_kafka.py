"""A real Kafka with a listener for each login, and the server of tokens that one of them trusts."""

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.local.kafka import KafkaNode, find_java, kafka_jars, kafka_nodes
from dehusk.streams.local.process import Service
from dehusk.streams.local.stack import default_cache
from dehusk.streams.settings import KafkaSettings
from tests.authority import Authority

USER, PASSWORD = "crawler", "not-to-be:told"
AUDIENCE, SCOPE = "kafka", "pages"
_ISSUER = "https://issuer.example"
_NAMED = "org.apache.kafka.common.security"
_SCRAM = f"{_NAMED}.scram.ScramLoginModule"


class TokenServer(ThreadingHTTPServer):
    """A server that gives tokens for one client's credentials, by HTTPS."""

    daemon_threads = True

    def __init__(self, port: int, context: ssl.SSLContext, key: ec.EllipticCurvePrivateKey) -> None:
        super().__init__((LOOPBACK, port), _TokenHandler)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.key = key
        self.given = 0
        """Tokens that it has given."""


class _TokenHandler(BaseHTTPRequestHandler):
    server: TokenServer

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        asked = {name: value for name, (value,) in form.items()}
        client = base64.b64encode(f"{USER}:{PASSWORD.replace(':', '%3A')}".encode()).decode()
        if self.headers["Authorization"] != f"Basic {client}":
            self._answer(401, {"error": "invalid_client", "error_description": "no such client"})
        elif asked != {"grant_type": "client_credentials", "scope": SCOPE, "audience": AUDIENCE}:
            self._answer(400, {"error": "invalid_scope"})
        else:
            self.server.given += 1
            self._answer(200, {"access_token": _token(self.server.key), "expires_in": TOKEN_SECONDS})

    def _answer(self, status: int, fields: dict[str, object]) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(fields).encode())

    def log_message(self, *_: object) -> None: ...


TOKEN_SECONDS = 6
"""Life of a token, and of a connection that it has opened."""


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _token(key: ec.EllipticCurvePrivateKey) -> str:
    """A token in the form of JSON Web Tokens, signed by ES256."""
    now = int(time.time())
    claims = {"sub": USER, "iss": _ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + TOKEN_SECONDS}
    parts = [{"alg": "ES256", "kid": "own"}, {**claims, "scope": SCOPE}]
    text = ".".join(_base64(json.dumps(part).encode()) for part in parts)
    numbers = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{_base64(b''.join(number.to_bytes(32) for number in numbers))}"


def _public_keys(key: ec.EllipticCurvePrivateKey) -> str:
    point = key.public_key().public_numbers()
    coordinates = {"x": _base64(point.x.to_bytes(32)), "y": _base64(point.y.to_bytes(32))}
    return json.dumps({"keys": [{"kty": "EC", "crv": "P-256", "kid": "own", "use": "sig", **coordinates}]})


class _Node(KafkaNode):
    """A node that lets anybody do anything at its own port, and asks for a login at others."""

    logins_port: int
    mutual_port: int
    store: Path
    """PEM file of the node's key and certificate."""
    authority: Path
    keys: Path
    """File of the public keys of the server of tokens."""

    def preparation(self) -> Sequence[str]:
        basic = KafkaNode.preparation(self)
        user = f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"
        return [*basic, "--add-scram", user] if basic else basic

    def command(self) -> Sequence[str]:
        java, *others = KafkaNode.command(self)
        return [java, f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.keys.as_uri()}", *others]

    def _configuration(self) -> dict[str, object]:
        basic = KafkaNode._configuration(self)
        own = f"LOGINS://{LOOPBACK}:{self.logins_port},MUTUAL://{LOOPBACK}:{self.mutual_port}"
        protocols = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LOGINS:SASL_SSL,MUTUAL:SSL"
        oauth = "listener.name.logins.oauthbearer"
        return basic | {
            "listeners": f"{basic['listeners']},{own}",
            "advertised.listeners": f"{basic['advertised.listeners']},{own}",
            "listener.security.protocol.map": protocols,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.store,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.authority,
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.logins.sasl.enabled.mechanisms": "SCRAM-SHA-512,OAUTHBEARER",
            "listener.name.logins.scram-sha-512.sasl.jaas.config": f"{_SCRAM} required;",
            f"{oauth}.sasl.jaas.config": f"{_NAMED}.oauthbearer.OAuthBearerLoginModule required;",
            f"{oauth}.sasl.server.callback.handler.class": (
                f"{_NAMED}.oauthbearer.OAuthBearerValidatorCallbackHandler"
            ),
            f"{oauth}.connections.max.reauth.ms": TOKEN_SECONDS * 1000,
            f"{oauth}.sasl.oauthbearer.jwks.endpoint.url": self.keys.as_uri(),
            f"{oauth}.sasl.oauthbearer.expected.audience": AUDIENCE,
            f"{oauth}.sasl.oauthbearer.expected.issuer": _ISSUER,
        }


@dataclass(frozen=True, slots=True)
class LoginKafka:
    """A Kafka, and the options by which clients log in."""

    administrator: KafkaSettings
    scram: tuple[str, ...]
    oauth: tuple[str, ...]
    mutual: tuple[str, ...]
    _port: int
    _context: ssl.SSLContext
    _key: ec.EllipticCurvePrivateKey

    @contextmanager
    def tokens(self) -> Iterator[TokenServer]:
        """The server of tokens, which runs meanwhile."""
        with TokenServer(self._port, self._context, self._key) as server:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
            try:
                yield server
            finally:
                server.shutdown()


@contextmanager
def login_kafka(directory: Path) -> Iterator[LoginKafka]:
    """A Kafka of one node that runs meanwhile."""
    port, controller, logins_port, mutual_port, tokens_port = free_ports(5)
    authority = Authority(directory)
    certificate, key = authority.certify("broker", LOOPBACK)
    (directory / "store.pem").write_bytes(key.read_bytes() + certificate.read_bytes())
    signing = ec.generate_private_key(ec.SECP256R1())
    (directory / "keys.json").write_text(_public_keys(signing))
    (plain,) = kafka_nodes([port, controller], directory, find_java(), kafka_jars(default_cache()))
    names = ("name", "number", "port", "voters", "nodes", "cluster", "directory", "java", "jars")
    node = _Node(**{name: getattr(plain, name) for name in names})
    for name, value in {
        "logins_port": logins_port,
        "mutual_port": mutual_port,
        "store": directory / "store.pem",
        "authority": authority.file,
        "keys": directory / "keys.json",
    }.items():
        object.__setattr__(node, name, value)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    service = Service(node, directory / "log")
    service.start()
    trusted = ("--tls-ca-file", str(authority.file))
    own = [str(file) for file in authority.certify("crawler", LOOPBACK)]
    user = ("--brokers", f"{LOOPBACK}:{logins_port}", "--security-protocol", "SASL_SSL", *trusted)
    user = (*user, "--sasl-username", USER, "--sasl-password", PASSWORD)
    oauth = (
        *("--sasl-mechanism", "OAUTHBEARER", "--sasl-oauth-token-url", f"https://{LOOPBACK}:{tokens_port}/"),
        *("--sasl-oauth-scope", SCOPE, "--sasl-oauth-audience", AUDIENCE),
        *("--sasl-oauth-ca-file", str(authority.file)),
    )
    try:
        yield LoginKafka(
            KafkaSettings(f"{LOOPBACK}:{port}"),
            (*user, "--sasl-mechanism", "SCRAM-SHA-512"),
            (*user, *oauth),
            (
                *("--brokers", f"{LOOPBACK}:{mutual_port}", "--security-protocol", "SSL", *trusted),
                *("--tls-certificate-file", own[0], "--tls-key-file", own[1]),
            ),
            tokens_port,
            context,
            signing,
        )
    finally:
        service.kill()
