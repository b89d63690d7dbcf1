"""HDFS, as its name nodes and data nodes answer over HTTP (recorded from Hadoop 3.4.1)."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.files.paths import input_files
from dehusk.streams.stores.errors import NotStoredError, StoreError
from dehusk.streams.stores.stored import StoredPath
from dehusk.streams.stores.web import WebHdfs

MARK = "/crawl/_SUCCESS"
FILES = {
    "/crawl/sub/a.jsonl": b"0123456789" * 100_000,
    "/crawl/b ä.html": b"<p>text",
    "/crawl/c.html": b"",
    MARK: b"",
}


class NameNode(BaseHTTPRequestHandler):
    def do_GET(self):
        parts = urlsplit(self.path)
        path, query = unquote(parts.path).removeprefix("/webhdfs/v1"), parse_qs(parts.query)
        self.server.users.add(query.get("user.name", [""])[0])
        operation = query["op"][0]
        if self.server.exceptions:
            self.answer({"RemoteException": {"exception": self.server.exceptions.pop(0)}}, 403)
            return
        if operation == "LISTSTATUS" and path == "/crawl":
            statuses = [
                status(name.removeprefix("/crawl/"), FILES[name]) for name in FILES if "sub" not in name
            ]
            statuses.append({**status("sub", b""), "type": "DIRECTORY"})
            self.answer({"FileStatuses": {"FileStatus": statuses}})
        elif operation == "LISTSTATUS" and path == "/crawl/sub":
            statuses = [status("a.jsonl", FILES["/crawl/sub/a.jsonl"])]
            self.answer({"FileStatuses": {"FileStatus": statuses}})
        elif path not in FILES:
            self.answer({"RemoteException": {"exception": "FileNotFoundException"}}, 404)
        elif operation == "GETFILESTATUS":
            self.answer({"FileStatus": status("", FILES[path])})
        elif "datanode" not in query:
            self.send_response(307)
            self.send_header("Location", f"{self.server.url}{self.path}&datanode=true")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            begin, length = int(query["offset"][0]), int(query["length"][0])
            self.give(200, FILES[path][begin : begin + length])

    def answer(self, content, code=200):
        self.give(code, json.dumps(content).encode())

    def give(self, code, body):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def status(name, content):
    modified = 1795538240921
    return {"pathSuffix": name, "type": "FILE", "length": len(content), "modificationTime": modified}


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), NameNode) as server:
        address = f"127.0.0.1:{server.server_address[1]}"
        server.url, server.root, server.users = f"http://{address}", f"webhdfs://me@{address}/", set()
        server.exceptions = []
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield server
        server.shutdown()


def test_a_folder_is_all_its_files_to_its_depth(server):
    found = {path.url: path.size for path in StoredPath(f"{server.root}crawl/").files()}
    assert found == {f"{server.root}{name[1:]}": len(content) for name, content in FILES.items()}
    assert server.users == {"me"}


def test_what_engines_write_beside_their_data_is_no_input(server):
    folder, mark = StoredPath(f"{server.root}crawl/"), StoredPath(f"{server.root}{MARK[1:]}")
    assert {file.url for file in input_files([folder])} == {file.url for file in folder.files()} - {mark.url}
    assert list(input_files([mark])) == [mark]  # which is named


def test_a_file_is_read_by_its_data_nodes(server):
    for name, content in FILES.items():
        with StoredPath(f"{server.root}{name[1:]}").open() as file:
            assert file.read() == content
    with StoredPath(f"{server.root}crawl/sub/a.jsonl").open(7, 5) as file:
        assert file.read() == b"78901"


def test_what_is_not_there_is_named(server):
    with pytest.raises(NotStoredError, match=r"there is no .*nothing"):
        StoredPath(f"{server.root}nothing").measure()
    with pytest.raises(StoreError, match="ends before the bytes"):
        StoredPath(f"{server.root}crawl/b ä.html").open(100)


def test_a_name_node_on_standby_is_asked_again(server):
    server.exceptions = ["StandbyException", "RetriableException"]
    assert StoredPath(f"{server.root}crawl/b ä.html").measure() == len(FILES["/crawl/b ä.html"])
    server.exceptions = ["StandbyException"] * 99
    with pytest.raises(UnavailableError, match="403"):
        WebHdfs(server.root.rstrip("/"), 0.5).fetch("crawl/c.html", 0, 1)


def test_what_a_user_may_not_read_is_not_asked_for_again(server):
    server.exceptions = ["AccessControlException"] * 2
    with pytest.raises(StoreError, match=r"access to .* is denied"):
        StoredPath(f"{server.root}crawl/c.html").measure()
    assert len(server.exceptions) == 1


@pytest.mark.parametrize("answer", ["<html>no name node", '{"FileStatus": {"length": "many"}}', "[]"])
def test_a_server_that_is_no_name_node_is_named(server, monkeypatch, answer):
    monkeypatch.setattr(NameNode, "answer", lambda node, *_: write_answer(node, answer.encode()))
    with pytest.raises(StoreError, match="does not answer as WebHDFS does"):
        StoredPath(f"{server.root}crawl/c.html").measure()
    with pytest.raises(StoreError, match="does not answer as WebHDFS does"):
        list(StoredPath(f"{server.root}crawl/").files())


def write_answer(node, body):
    node.send_response(200)
    node.send_header("Content-Length", str(len(body)))
    node.end_headers()
    node.wfile.write(body)
