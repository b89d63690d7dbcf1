import io
import json
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import fastavro
import pytest

from dehusk.schemas.errors import ConfigurationError, PageError, UnavailableError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.local.folder import free_ports
from dehusk.streams.sources import schema_registry
from dehusk.streams.sources.schema_registry import SchemaRegistry
from dehusk.streams.sources.source import MissingSchemaError, RefusedSchemaError
from tests.authority import Authority

PAGE = {"type": "record", "name": "Page", "fields": [{"name": "url", "type": "string"}]}
CRAWL = {"type": "record", "name": "Crawl", "fields": [{"name": "page", "type": "Page"}]}


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time as the registry's client sees it, in seconds; it goes on where a test says so."""
    time = [1000.0]
    monkeypatch.setattr(schema_registry, "time", SimpleNamespace(monotonic=lambda: time[0]))
    return time


class Registry(ThreadingHTTPServer):
    """Answers with what a test puts into `answers`, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.answers: dict[str, tuple[int | str, bytes]] = {}
        """Status and body by path; a status may be `hang` or `reset`."""
        self.asked: list[tuple[str, str | None]] = []
        self.posted: list[tuple[str, dict[str, str]]] = []

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def holds(self, path: str, schema: object, **more: object) -> None:
        self.answers[path] = 200, json.dumps({"schema": json.dumps(schema), **more}).encode()


class Handler(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        status, body = self.server.answers.get(self.path, (404, b'{"error_code":40403}'))
        if isinstance(status, str):
            fail_to_answer(self.connection, status)
            return
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.posted.append((self.path, content))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


def fail_to_answer(connection: socket.socket, how: str) -> None:
    """Reset a connection, or `hang` until the client gives up."""
    if how == "hang":
        connection.recv(1)
    else:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()


@contextmanager
def serving(port: int = 0) -> Iterator[Registry]:
    with Registry(port) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield server
        server.shutdown()


@pytest.fixture
def server() -> Iterator[Registry]:
    with serving() as server:
        yield server


def test_a_schema_is_asked_for_once(server):
    server.holds("/schemas/ids/7", PAGE)
    registry = SchemaRegistry(f"http://{server.host}/")
    first = registry.schema("ids/7")
    assert registry.schema("ids/7") is first
    assert first.language == "AVRO"
    assert first.avro["name"] == "Page"
    assert server.asked == [("/schemas/ids/7", None)]


def test_a_schema_is_found_by_its_guid(server):
    server.holds("/schemas/guids/89791762-2336-4186-9674-299b90a802e2", PAGE)
    registry = SchemaRegistry(f"http://{server.host}")
    assert registry.schema("guids/89791762-2336-4186-9674-299b90a802e2").avro is not None


def test_schemas_that_a_schema_refers_to_are_read_too(server):
    server.holds("/schemas/ids/2", CRAWL, references=[{"name": "Page", "subject": "a/b", "version": 3}])
    server.holds("/subjects/a%2Fb/versions/3", PAGE)
    schema = SchemaRegistry(f"http://{server.host}").schema("ids/2")
    out = io.BytesIO()
    record = {"page": {"url": "http://example.org/"}}
    fastavro.schemaless_writer(out, schema.avro, record)
    assert fastavro.schemaless_reader(io.BytesIO(out.getvalue()), schema.avro, None) == record


@pytest.mark.parametrize("language", ["JSON", "PROTOBUF"])
def test_a_schema_of_another_language_is_named(server, language):
    server.holds("/schemas/ids/3", {}, schemaType=language)
    schema = SchemaRegistry(f"http://{server.host}").schema("ids/3")
    assert (schema.language, schema.avro) == (language, None)


def test_name_and_password_of_the_url_are_sent(server):
    server.holds("/prefix/schemas/ids/1", PAGE)
    SchemaRegistry(f"http://us%40er:pa%3Ass@{server.host}/prefix").schema("ids/1")
    assert server.asked == [("/prefix/schemas/ids/1", "Basic dXNAZXI6cGE6c3M=")]


def test_an_unknown_schema_belongs_to_the_message(server):
    with pytest.raises(PageError, match="does not know schema ids/9") as raised:
        SchemaRegistry(f"http://{server.host}").schema("ids/9")
    assert raised.value.reason is BrokenReason.UNKNOWN_SCHEMA


def test_a_schema_that_is_not_avro_belongs_to_the_message(server):
    server.holds("/schemas/ids/4", {"type": "nonsense"})
    with pytest.raises(PageError, match="nonsense") as raised:
        SchemaRegistry(f"http://{server.host}").schema("ids/4")
    assert raised.value.reason is BrokenReason.UNKNOWN_SCHEMA


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((500, b""), "answers 500 for"),
        ((401, b""), "a user who may read schemas"),
        ((429, b""), "answers 429 for"),
        ((200, b"<html>"), "no JSON"),
        ((404, b"default backend"), "is the path of --schema-registry"),
        ((404, b'{"error_code": 404}'), "is the path of --schema-registry"),
    ],
)
def test_a_registry_in_trouble_is_asked_again_later(server, answer, words, now):
    server.answers["/schemas/ids/1"] = answer
    registry = SchemaRegistry(f"http://{server.host}")
    with pytest.raises(UnavailableError, match=f"{server.host}.*{words}"):
        registry.schema("ids/1")
    server.holds("/schemas/ids/1", PAGE)
    now[0] += 5
    assert registry.schema("ids/1").avro is not None


def test_one_message_that_asked_in_vain_is_enough(server, now):
    server.holds("/schemas/ids/1", PAGE)
    server.answers["/schemas/ids/2"] = 503, b""
    registry = SchemaRegistry(f"http://{server.host}")
    for _ in range(3):
        with pytest.raises(RefusedSchemaError, match="answers 503 for schema ids/2") as raised:
            registry.schema("ids/2")
    assert raised.value.reference == "ids/2"
    assert registry.schema("ids/1").avro is not None
    assert [path for path, _ in server.asked] == ["/schemas/ids/2", "/schemas/ids/1"]


@pytest.mark.parametrize("how", ["hang", "reset"])
def test_a_schema_that_alone_gets_no_answer_holds_up_no_other(server, now, how):
    server.holds("/schemas/ids/1", PAGE)
    server.answers["/schemas/ids/2"] = how, b""
    registry = SchemaRegistry(f"http://{server.host}", timeout=0.2)
    for _ in range(2):
        with pytest.raises(RefusedSchemaError, match=r"answers others, but fails .* ids/2") as raised:
            registry.schema("ids/2")
    assert raised.value.reference == "ids/2"
    assert [path for path, _ in server.asked] == ["/schemas/ids/2", "/schemas/types"]
    assert registry.schema("ids/1").avro is not None
    assert ask_for(registry, "ids/2", now, 60) == ["RefusedSchemaError"]
    assert ask_for(registry, "ids/2", now, 5) == ["PageError"]
    server.holds("/schemas/ids/2", PAGE)
    assert registry.schema("ids/2").avro is not None


@pytest.mark.parametrize("types", ["hang", "reset", 503])
def test_a_registry_that_answers_nothing_is_unavailable(server, now, types):
    server.answers |= {"/schemas/ids/1": ("reset", b""), "/schemas/types": (types, b"")}
    registry = SchemaRegistry(f"http://{server.host}", timeout=0.2)
    for reference in ("ids/1", "ids/2"):
        with pytest.raises(MissingSchemaError, match="unavailable") as raised:
            registry.schema(reference)
        assert not isinstance(raised.value, RefusedSchemaError)
        assert raised.value.reference == reference
    assert [path for path, _ in server.asked] == ["/schemas/ids/1", "/schemas/types"]


def test_nothing_is_asked_for_a_while_after_a_registry_was_away(now):
    (port,) = free_ports(1)
    registry = SchemaRegistry(f"http://127.0.0.1:{port}")
    for reference in ("ids/1", "ids/2"):
        with pytest.raises(UnavailableError, match=f":{port} is unavailable"):
            registry.schema(reference)
    with serving(port) as server:
        server.holds("/schemas/ids/2", PAGE)
        with pytest.raises(UnavailableError):
            registry.schema("ids/2")
        assert not server.asked
        now[0] += 5
        assert registry.schema("ids/2").avro is not None


def ask_for(registry: SchemaRegistry, reference: str, now: list[float], seconds: int) -> list[str]:
    """Ask for a schema each five seconds; the classes of the errors, without repetitions."""
    errors: dict[str, None] = {}
    for _ in range(0, seconds, 5):
        try:
            registry.schema(reference)
        except (PageError, UnavailableError) as error:
            errors[type(error).__name__] = None
        now[0] += 5
    return list(errors)


def test_a_schema_that_is_refused_for_long_while_others_are_answered_belongs_to_the_message(server, now):
    server.holds("/schemas/ids/1", PAGE)
    server.answers["/schemas/ids/2"] = 500, b""
    registry = SchemaRegistry(f"http://{server.host}")
    registry.schema("ids/1")
    assert ask_for(registry, "ids/2", now, 60) == ["RefusedSchemaError"]
    assert ask_for(registry, "ids/2", now, 60) == ["PageError"]
    with pytest.raises(PageError, match=r"500 .* 120 s") as e:
        registry.schema("ids/2")
    assert e.value.reason is BrokenReason.UNKNOWN_SCHEMA
    now[0] += 5
    server.holds("/schemas/ids/2", PAGE)
    assert registry.schema("ids/2").avro is not None


@pytest.mark.parametrize(
    ("types", "then"),
    [
        ((200, b'["AVRO","JSON"]'), "PageError"),
        ((404, b"default backend"), "_NotFoundError"),
        ((200, b"<html>"), "_NotFoundError"),
        ((200, b"[]"), "_NotFoundError"),
        (("reset", b""), "_NotFoundError"),
    ],
)
def test_the_first_schema_that_is_not_found_for_long_is_unknown_if_the_path_is_right(
    server, now, types, then
):
    server.answers |= {"/schemas/ids/1": (404, b"not found"), "/schemas/types": types}
    registry = SchemaRegistry(f"http://{server.host}")
    assert ask_for(registry, "ids/1", now, 60) == ["_NotFoundError"]
    assert ask_for(registry, "ids/1", now, 60) == [then]
    server.answers["/schemas/ids/2"] = 403, b""
    assert ask_for(registry, "ids/2", now, 120) == ["RefusedSchemaError"]


def test_a_schema_that_was_unknown_long_ago_is_waited_for_when_it_is_refused(server, now):
    server.holds("/schemas/ids/1", PAGE)
    registry = SchemaRegistry(f"http://{server.host}")
    registry.schema("ids/1")
    assert ask_for(registry, "ids/2", now, 5) == ["PageError"]
    now[0] += 3_600
    server.answers["/schemas/ids/2"] = 500, b""
    assert ask_for(registry, "ids/2", now, 10) == ["RefusedSchemaError"]


def test_a_registry_that_refuses_all_is_waited_for(server, now):
    server.holds("/schemas/ids/1", PAGE)
    registry = SchemaRegistry(f"http://{server.host}")
    registry.schema("ids/1")
    server.answers |= {"/schemas/ids/1": (500, b""), "/schemas/ids/2": (500, b"")}
    assert ask_for(registry, "ids/2", now, 600) == ["RefusedSchemaError"]
    assert ask_for(SchemaRegistry(f"http://{server.host}"), "ids/2", now, 600) == ["RefusedSchemaError"]


def test_a_schema_that_refers_to_itself_belongs_to_the_message(server):
    server.holds("/schemas/ids/2", CRAWL, references=[{"name": "Page", "subject": "page", "version": 3}])
    server.holds("/subjects/page/versions/3", PAGE, references=[{"name": "A", "subject": "a", "version": 1}])
    server.holds(
        "/subjects/a/versions/1", PAGE, references=[{"name": "Page", "subject": "page", "version": 3}]
    )
    with pytest.raises(PageError, match="Page") as raised:
        SchemaRegistry(f"http://{server.host}").schema("ids/2")
    assert raised.value.reason is BrokenReason.UNKNOWN_SCHEMA
    assert len(server.asked) == 3


def test_a_schema_that_two_others_refer_to_is_read_once(server):
    page = {"name": "Page", "subject": "page", "version": 3}
    first = {"type": "record", "name": "First", "fields": [{"name": "page", "type": "Page"}]}
    both = [
        {
            "type": "record",
            "name": "Both",
            "fields": [{"name": "a", "type": "First"}, {"name": "b", "type": "Page"}],
        }
    ]
    server.holds("/subjects/page/versions/3", PAGE)
    server.holds("/subjects/first/versions/1", first, references=[page])
    references = [{"name": "First", "subject": "first", "version": 1}, page]
    server.holds("/schemas/ids/2", both, references=references)
    assert SchemaRegistry(f"http://{server.host}").schema("ids/2").avro[0]["name"] == "Both"
    assert len(server.asked) == 3


@pytest.mark.parametrize("answer", [b"[]", b"[" * 100_000, b"7", b"null"])
def test_an_answer_that_is_no_object_is_named(server, answer):
    server.answers["/schemas/ids/1"] = 200, answer
    with pytest.raises(RefusedSchemaError, match=r"(no JSON|no object)"):
        SchemaRegistry(f"http://{server.host}").schema("ids/1")


@pytest.mark.parametrize(
    "more",
    [{"references": 7}, {"references": [[]]}, {"references": [{}]}, {"schema": 7}, {"schema": "[" * 100_000}],
)
def test_what_is_no_schema_belongs_to_the_message(server, more):
    server.answers["/schemas/ids/1"] = 200, json.dumps({"schema": json.dumps(PAGE), **more}).encode()
    with pytest.raises(PageError, match="schema ids/1 is not Avro") as raised:
        SchemaRegistry(f"http://{server.host}").schema("ids/1")
    assert raised.value.reason is BrokenReason.UNKNOWN_SCHEMA


def test_an_unknown_schema_is_asked_for_again_after_a_while(server, now):
    registry = SchemaRegistry(f"http://{server.host}")
    for _ in range(3):
        with pytest.raises(PageError, match="does not know schema ids/9"):
            registry.schema("ids/9")
    assert len(server.asked) == 1
    server.holds("/schemas/ids/9", PAGE)
    now[0] += 30
    assert registry.schema("ids/9").avro is not None


def test_no_more_unknown_schemas_are_remembered_than_fit(server, monkeypatch):
    monkeypatch.setattr(schema_registry, "MAX_FAILED", 2)
    registry = SchemaRegistry(f"http://{server.host}")
    for number in (1, 2, 3, 3, 2, 1):
        with pytest.raises(PageError):
            registry.schema(f"ids/{number}")
    assert [path[-1] for path, _ in server.asked] == ["1", "2", "3", "1"]


def test_an_answer_that_is_no_http_is_none(server):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_answer_nonsense, args=(listener,)).start()
        with pytest.raises(UnavailableError, match="unavailable"):
            SchemaRegistry(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.2).schema("ids/1")


def _answer_nonsense(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(b"nonsense\r\n\r\n")


def test_a_registry_that_is_away_is_unavailable():
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:1 is unavailable"):
        SchemaRegistry("http://127.0.0.1:1").schema("ids/1")


def test_no_password_reaches_an_error_message():
    with pytest.raises(UnavailableError) as raised:
        SchemaRegistry("http://user:secret@127.0.0.1:1").schema("ids/1")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        *("localhost:8081", "file:///etc/passwd", "http://", "ftp://host", "http://host:port"),
        *(
            "user:secret@host:8081",
            "http://user:secret/@host",
            "http://user:secret@[::1",
            "http://u:secret@\u2100",
        ),
    ],
)
def test_a_registry_needs_an_http_url(url):
    with pytest.raises(ConfigurationError, match="not an http or https URL") as raised:
        SchemaRegistry(url)
    assert "secret" not in str(raised.value)


def test_a_schema_that_is_there_is_not_registered_again(server):
    server.answers["/subjects/a%2Fb-value"] = 200, b'{"subject": "a/b-value", "version": 1, "id": 7}'
    assert SchemaRegistry(f"http://{server.host}").register("a/b-value", "JSON", "{}") == 7
    assert server.posted == [("/subjects/a%2Fb-value", {"schema": "{}", "schemaType": "JSON"})]


def test_a_registry_whose_certificate_is_not_trusted_names_the_variable(server, tmp_path, monkeypatch):
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.certify("registry", "127.0.0.1"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.holds("/schemas/ids/1", PAGE)
    registry = SchemaRegistry(f"https://{server.host}")
    for ask in (lambda: registry.schema("ids/1"), lambda: registry.register("out-value", "AVRO", "{}")):
        with pytest.raises(UnavailableError, match=r"certificate is refused: .* SSL_CERT_FILE"):
            ask()
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    monkeypatch.setattr("urllib.request._opener", None)  # from Python 3.13 on, it keeps what it trusts
    assert SchemaRegistry(f"https://{server.host}").schema("ids/1").avro is not None


def test_a_new_schema_is_registered(server):
    server.answers["/subjects/out-value/versions"] = 200, b'{"id": 8}'
    assert SchemaRegistry(f"http://me:secret@{server.host}/").register("out-value", "AVRO", "{}") == 8
    lookup, registration = server.posted
    assert registration == ("/subjects/out-value/versions", {"schema": "{}"})
    assert lookup == ("/subjects/out-value", {"schema": "{}"})
    assert server.asked[-1][1] == "Basic bWU6c2VjcmV0"


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (
            409,
            b'{"message": "not\\n compatible"}',
            ConfigurationError,
            r"409 \(not compatible\).*--schema-subject",
        ),
        (403, b"<html>", ConfigurationError, "403 for subject out-value: .*an administrator register"),
        (404, b"[]", ConfigurationError, "404 .*is the path of --schema-registry"),
        (422, b'{"message": "odd"}', ConfigurationError, "it does not take the schema"),
        (200, b"no JSON", ConfigurationError, "is no schema registry"),
        (200, b"{}", ConfigurationError, "is no schema registry"),
        (500, b"{}", UnavailableError, "answers 500 .*: is the schema of the subject of another language"),
        ("reset", b"", UnavailableError, "unavailable.*start it, or give"),
    ],
)
def test_a_registration_that_fails_says_what_to_do(server, status, body, kind, words):
    server.answers["/subjects/out-value/versions"] = status, body
    with pytest.raises(kind, match=words) as raised:
        SchemaRegistry(f"http://me:secret@{server.host}").register("out-value", "AVRO", "{}")
    assert "secret" not in str(raised.value)
