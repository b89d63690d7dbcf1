"""A web server on loopback for a site on disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


class _QuietHandler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open between pages

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class's name
        pass


@contextmanager
def serve(directory: Path) -> Iterator[str]:
    """The URL, with a slash at its end, under which the directory is served on a free loopback port."""
    handler = partial(_QuietHandler, directory=str(directory))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
