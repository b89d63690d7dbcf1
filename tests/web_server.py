"""A web server that gives parts of what it holds, and fails as it is told."""

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote

PLACE = "bytes {}-{}/{}"
"""The place of a part, its first and last byte, and the bytes of the whole, as the server states it."""
_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


class WebServer(ThreadingHTTPServer):
    """Objects by their paths, on a port of its own."""

    daemon_threads = True

    def __init__(self, certificate: tuple[Path, Path] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self.server_address[1]}"
        self.objects: dict[str, bytes] = {}
        self.statuses: list[int] = []
        """Statuses of the next answers, instead of what is asked for."""
        self.redirects: dict[str, str] = {}
        self.cuts = 0
        """Number of answers whose connection ends too early."""
        self.version = "1"
        self.has_ranges = True
        self.has_chunks = False
        """True to send what has no ranges in chunks, without its size."""
        self.requests: list[tuple[str, str | None]] = []
        """Paths and ranges that were asked for."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients may leave."""


class _Handler(BaseHTTPRequestHandler):
    server: WebServer

    def do_GET(self) -> None:
        server, path = self.server, unquote(self.path.partition("?")[0])
        asked = self.headers.get("Range")
        server.requests.append((self.path, asked))
        if server.statuses:
            self._answer(server.statuses.pop(0), {}, b"")
        elif path in server.redirects:
            self._answer(302, {"Location": server.redirects[path]}, b"")
        elif path not in server.objects:
            self._answer(404, {}, b"")
        else:
            self._give(server.objects[path], asked if server.has_ranges else None)

    def _give(self, content: bytes, asked: str | None) -> None:
        if not (found := _RANGE.fullmatch(asked or "")):
            self._answer(200, {}, content)
            return
        begin, end = int(found[1]), min(int(found[2]) + 1, len(content))
        if begin >= len(content):
            self._answer(416, {"Content-Range": f"bytes */{len(content)}"}, b"")
        else:
            place = {"Content-Range": PLACE.format(begin, end - 1, len(content))}
            self._answer(206, place, content[begin:end])

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {"ETag": f'"{self.server.version}"', **headers}.items():
            self.send_header(name, value)
        if self.server.has_chunks and status == 200:
            self.send_header("Transfer-Encoding", "chunked")
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.cuts and body:
            self.server.cuts -= 1
            body = body[: len(body) // 2]
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@contextmanager
def web_server(certificate: tuple[Path, Path] | None = None) -> Iterator[WebServer]:
    """A server that answers until the end."""
    server = WebServer(certificate)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
