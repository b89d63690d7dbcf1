from urllib.parse import quote

import pytest

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.stores.errors import NotStoredError, StoreError, shown
from dehusk.streams.stores.web import WebServer
from tests.authority import Authority
from tests.web_server import web_server

CONTENT = bytes(range(256)) * 40
PATIENCE = 20.0


@pytest.fixture
def server():
    with web_server() as server:
        server.objects["/a"] = CONTENT
        yield server


def fetch(server, begin=0, end=100, *, key="a", patience=PATIENCE, root=""):
    return WebServer(server.url, patience, root).fetch(key, begin, end)


def test_a_part_of_an_object_is_read_alone(server):
    piece = fetch(server, 300, 400)
    assert (piece.data, piece.size, piece.version) == (CONTENT[300:400], len(CONTENT), '"1"')
    assert server.requests == [("/a", "bytes=300-399")]


def test_a_part_ends_where_the_object_does(server):
    assert fetch(server, len(CONTENT) - 5, len(CONTENT) + 5).data == CONTENT[-5:]


def test_a_part_behind_the_end_that_its_server_states_is_refused(server, monkeypatch):
    monkeypatch.setattr("tests.web_server.PLACE", "bytes {}-{}/3")
    with pytest.raises(StoreError, match="gives no parts"):
        fetch(server, 5, 10)


def test_an_empty_object_has_an_empty_part(server):
    server.objects["/a"] = b""
    assert (fetch(server).data, fetch(server).size) == (b"", 0)


def test_what_fails_for_a_while_is_asked_for_again(server):
    server.statuses, server.cuts = [503, 500, 429], 2
    assert fetch(server).data == CONTENT[:100]
    assert len(server.requests) == 6


def test_a_server_that_is_away_is_asked_for_so_long_only(server):
    server.statuses = [503] * 100
    with pytest.raises(UnavailableError, match=rf"{server.url} does not give {server.url}/a: .*503"):
        fetch(server, patience=0.5)
    assert 2 <= len(server.requests) < 10


def test_an_object_that_is_cut_off_again_and_again_is_not_taken_for_whole(server):
    server.cuts = 100
    with pytest.raises(UnavailableError, match=r"50 of 100 bytes|IncompleteRead"):
        fetch(server, patience=0.3)


@pytest.mark.parametrize("url", ["http://a..b", "http://example.org:no"])
def test_a_host_that_cannot_be_asked_is_told_at_once(url):
    with pytest.raises(StoreError, match="has no host that can be asked"):
        WebServer(url, 60).fetch("a", 0, 1)


def test_a_server_that_nobody_runs_does_not_answer():
    with pytest.raises(UnavailableError, match="refused"):
        WebServer("http://127.0.0.1:1", 0.3).fetch("a", 0, 1)


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (404, NotStoredError, "there is no"),
        (410, NotStoredError, "there is no"),
        (401, StoreError, "denied"),
        (403, StoreError, "denied"),
        (400, StoreError, "answers 400"),
    ],
)
def test_a_refusal_is_named_and_not_asked_for_again(server, status, error, words):
    server.statuses = [status]
    with pytest.raises(error, match=words):
        fetch(server)
    assert len(server.requests) == 1


def test_an_offset_behind_the_end_is_named(server):
    with pytest.raises(StoreError, match="ends before the bytes"):
        fetch(server, len(CONTENT), len(CONTENT) + 1)


def test_a_server_without_ranges_gives_small_objects_only(server):
    server.has_ranges = False
    assert fetch(server, 0, 50).data == CONTENT[:50]
    with pytest.raises(StoreError, match="no parts of it, only the whole"):
        fetch(server, 50, 100)


def test_a_small_object_may_come_in_chunks_without_its_size(server):
    server.has_ranges, server.has_chunks, server.cuts = False, True, 1
    piece = fetch(server, 0, 50)
    assert (piece.data, piece.size, piece.version) == (CONTENT[:50], len(CONTENT), '"1"')
    assert len(server.requests) == 2, "one that is cut off is not taken for whole"
    for size, known in ((0, True), (256 * 1024, True), (256 * 1024 + 1, False)):
        server.objects["/a"] = bytes(size)
        if known:
            assert fetch(server).size == size
        else:
            with pytest.raises(StoreError, match="no parts of it, only the whole"):
                fetch(server)


def test_a_redirect_is_followed_unless_it_leads_to_another_server(server):
    server.redirects = {"/near": "/a"}
    root = f"{server.url}/"
    assert fetch(server, key="near", root=root).data == CONTENT[:100]
    with web_server() as other:
        other.objects["/b"] = b"of another"
        server.redirects["/far"] = f"{other.url}/b"
        assert fetch(server, key="far").data == b"of another"
        asked = len(other.requests)
        with pytest.raises(StoreError, match="which is not asked"):
            fetch(server, key="far", root=root)
        assert len(other.requests) == asked


@pytest.mark.parametrize("place", ["/a", "/ä b", "/ä b/", "/ä b/%2e%2e/a", "../a", "//ä b/a"])
def test_a_redirect_never_leads_out_of_a_root(server, place):
    server.objects["/ä b/c"], root = b"of the root", f"{server.url}/ä b/"
    server.redirects = {"/ä b/near": "c", "/ä b/far": quote(place, safe="/%")}
    assert fetch(server, key="%C3%A4%20b/near", root=root).data == b"of the root"
    with pytest.raises(StoreError, match="which is not asked"):
        fetch(server, key="%C3%A4%20b/far", root=root)
    assert len(server.requests) == 3


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/a", "file:///etc/passwd", "http://[/"])
def test_a_redirect_never_leads_to_another_kind_of_place(server, url):
    server.redirects = {"/a": url}
    with pytest.raises(StoreError, match=r"which is not asked|answers 302|no host"):
        fetch(server)


def test_a_redirect_never_gives_up_encryption(server, tmp_path, monkeypatch):
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    with web_server(authority.certify("server", "127.0.0.1")) as encrypted:
        encrypted.objects["/a"], encrypted.redirects["/open"] = CONTENT, f"{server.url}/a"
        assert fetch(encrypted, 5, 9).data == CONTENT[5:9]
        with pytest.raises(StoreError, match="which is not asked"):
            fetch(encrypted, key="open")


def test_a_certificate_that_nobody_knows_is_refused(tmp_path):
    certificate = Authority(tmp_path).certify("server", "127.0.0.1")
    with (
        web_server(certificate) as encrypted,
        pytest.raises(UnavailableError, match=r"certificate is refused: .* SSL_CERT_FILE"),
    ):
        fetch(encrypted, patience=600)


def test_a_server_without_tls_is_not_asked_again_by_https(server):
    encrypted = WebServer(server.url.replace("http:", "https:"), 600)
    with pytest.raises(UnavailableError, match=r"/a: it has no TLS: give http:// instead of https://$"):
        encrypted.fetch("a", 0, 1)


def test_folders_of_web_servers_are_not_listed(server):
    with pytest.raises(StoreError, match="name its files") as caught:
        next(WebServer(server.url, PATIENCE).list("crawl/?signature=secret/"))
    assert "secret" not in str(caught.value)


def test_names_hide_what_may_be_secret():
    url = "https://user:word@host:8443/a@b?X-Amz-Signature=abc"
    assert shown(url) == "https://host:8443/a@b"
    assert shown("https://host?X-Amz-Signature=a/b@c") == "https://host"
    assert shown("https://user:word@[::1/a") == "https://[::1/a"
    assert shown("localhost:9000") == "localhost:9000"
    assert shown("s3://bucket/a@b?c") == "s3://bucket/a@b?c"
    assert shown("webhdfs://user:word@host:9870/a?") == "webhdfs://host:9870/a?"
