import io
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import fastavro
import pytest

from dehusk.schemas.errors import ConfigurationError, PageError, UnavailableError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.sources import schema_registry
from dehusk.streams.sources.schema_registry import SchemaRegistry

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

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.asked: list[tuple[str, str | None]] = []

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
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Registry]:
    with Registry() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield server
        server.shutdown()


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


@pytest.mark.parametrize("answer", [(500, b""), (503, b""), (401, b""), (429, b""), (200, b"<html>")])
def test_a_registry_in_trouble_is_asked_again_later(server, answer, now):
    server.answers["/schemas/ids/1"] = answer
    registry = SchemaRegistry(f"http://{server.host}")
    with pytest.raises(UnavailableError, match=server.host):
        registry.schema("ids/1")
    server.holds("/schemas/ids/1", PAGE)
    now[0] += 5
    assert registry.schema("ids/1").avro is not None


def test_one_message_that_waited_for_the_registry_in_vain_is_enough(server, now):
    server.holds("/schemas/ids/1", PAGE)
    server.answers["/schemas/ids/2"] = 503, b""
    registry = SchemaRegistry(f"http://{server.host}")
    registry.schema("ids/1")
    for reference in ("ids/2", "ids/2", "ids/3"):
        with pytest.raises(UnavailableError, match="answers 503"):
            registry.schema(reference)
    assert registry.schema("ids/1").avro is not None
    assert [path for path, _ in server.asked] == ["/schemas/ids/1", "/schemas/ids/2"]


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
    monkeypatch.setattr(schema_registry, "_UNKNOWN_AT_MOST", 2)
    registry = SchemaRegistry(f"http://{server.host}")
    for number in (1, 2, 3, 3, 2, 1):
        with pytest.raises(PageError):
            registry.schema(f"ids/{number}")
    assert [path[-1] for path, _ in server.asked] == ["1", "2", "3", "1"]


def test_an_answer_that_is_no_http_is_none(server):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_answer_nonsense, args=(listener,)).start()
        with pytest.raises(UnavailableError, match="is unavailable"):
            SchemaRegistry(f"http://127.0.0.1:{listener.getsockname()[1]}").schema("ids/1")


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
