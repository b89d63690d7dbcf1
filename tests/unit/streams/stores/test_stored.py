import pickle
import random
import time
import zipfile
from pathlib import Path

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.stores import stored
from dehusk.streams.stores.errors import StoreError
from dehusk.streams.stores.stored import StoredPath, stored_path
from tests.web_server import web_server

CONTENT = random.Random(1).randbytes(3_000_000)
FIRST = 256 * 1024


@pytest.fixture
def server():
    with web_server() as server:
        server.objects["/a"] = CONTENT
        yield server


def test_an_object_is_read_in_pieces_that_grow(server):
    with StoredPath(f"{server.url}/a").open() as file:
        assert file.read() == CONTENT
    sizes = [
        int(asked.partition("-")[2]) - int(asked[6:].partition("-")[0]) + 1 for _, asked in server.requests
    ]
    assert sizes == [FIRST, 2 * FIRST, 4 * FIRST, len(CONTENT) - 7 * FIRST]


def test_an_object_is_read_from_any_position_as_a_file_is(server):
    chance = random.Random(2)
    with StoredPath(f"{server.url}/a").open() as file:
        for _ in range(30):
            begin, count = chance.randrange(len(CONTENT) + 100), chance.choice([1, 100, 300_000])
            assert file.seek(begin) == begin
            assert file.read(count) == CONTENT[begin : begin + count]
            assert file.tell() == max(begin, min(begin + count, len(CONTENT)))
        assert file.seek(-10, 2) == len(CONTENT) - 10
        assert file.read() == CONTENT[-10:]


def test_a_part_of_an_object_is_one_request(server):
    with StoredPath(f"{server.url}/a").open(1000, 500) as file:
        assert file.read() == CONTENT[1000:1500]
    assert server.requests == [("/a", "bytes=1000-1499")]


def test_an_object_that_changes_while_it_is_read_is_not_mixed(server):
    with StoredPath(f"{server.url}/a").open() as file:
        file.read(10)
        server.version = "2"
        with pytest.raises(StoreError, match="has changed while it was read"):
            file.read()


def test_a_zip_file_is_read_where_its_files_are(server, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("a", CONTENT)
        made.writestr("b", b"of the second file")
    server.objects["/a.zip"] = (tmp_path / "a.zip").read_bytes()
    with StoredPath(f"{server.url}/a.zip").open() as file, zipfile.ZipFile(file) as package:
        assert package.read("b") == b"of the second file"
    assert len(server.requests) <= 3


def test_a_path_has_its_size_asked_once(server):
    path = StoredPath(f"{server.url}/a")
    assert [path.measure(), path.measure(), path.exists()] == [len(CONTENT), len(CONTENT), True]
    assert server.requests == [("/a", "bytes=0-0")]


def test_a_name_is_written_as_a_web_address_is(server):
    server.objects["/ä b?"] = b"x"
    assert StoredPath(f"{server.url}/ä b%3F").measure() == 1
    assert server.requests[0][0] == "/%C3%A4%20b%3F"
    server.objects["/signed"] = b"yz"
    assert StoredPath(f"{server.url}/signed?X-Amz-Signature=a%2Fb").measure() == 2
    assert server.requests[1][0] == "/signed?X-Amz-Signature=a%2Fb"


@pytest.mark.parametrize("url", ["s3://b/k", "gs://b/k", "https://h/k", "webhdfs://h:9870/k"])
def test_urls_of_stores_are_told_from_paths(url):
    path = stored_path(url)
    assert path == StoredPath(url)
    assert pickle.loads(pickle.dumps(path)) == path


def test_a_store_has_one_scheme_however_it_is_written():
    assert stored_path("HTTP://h/K") == StoredPath("http://h/K")
    assert stored_path("S3a://b/K") == StoredPath("s3://b/K")


@pytest.mark.parametrize("path", ["s3", "./s3://b", "./ftp://h/k", "crawl/a.warc", "C://x"])
def test_paths_are_told_from_urls_of_stores(path):
    assert stored_path(path) is None


@pytest.mark.parametrize("url", ["ftp://h/k", "file:///a", "hdfs+x://a", "S3N://b/k"])
def test_urls_of_other_schemes_are_refused(url):
    with pytest.raises(ConfigurationError, match="URLs begin with s3://"):
        stored_path(url)


def test_a_user_is_told_of_a_store_that_does_not_answer_at_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "_SILENT_SECONDS", 0.01)
    with stored.told_of_waiting(StoredPath("https://me:secret@h/k")):
        until = time.monotonic() + 30
        while not caplog.messages:
            assert time.monotonic() < until
            time.sleep(0.01)
    (said,) = caplog.messages
    assert said == "waiting for https://h/k: its store is asked again for 60 s at most"


def test_a_user_is_not_told_of_one_that_answers(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "_SILENT_SECONDS", 0.2)
    for path in (Path("a"), StoredPath("https://h/k")):
        with stored.told_of_waiting(path):
            pass
    time.sleep(0.3)
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("s3:///key", "no host or bucket"),
        ("hdfs://name:8020/a", "webhdfs://NAMENODE:9870"),
        ("http://[/a", "is no URL: Invalid IPv6"),
        ("s3://pages//crawl/", "no part of the path of an object may be empty"),
        ("webhdfs://host:9870/crawl//", "no part of the path of an object may be empty"),
    ],
)
def test_a_url_that_leads_nowhere_is_a_mistake_of_the_caller(url, words):
    with pytest.raises(ConfigurationError, match=words):
        StoredPath(url).connect()


@pytest.mark.parametrize(
    "url",
    [
        "https://user:secret@host/f/",
        "https://secret@host/a",
        "https://user:secret@[::1/a",
        "s3://key:secret@bucket/a",
        "webhdfs://user:secret@host:9870/a",
        "hdfs://user:secret@host/a",
    ],
)
def test_a_password_in_a_url_is_refused_and_not_told(url):
    with pytest.raises(ConfigurationError) as caught:
        stored_path(url)
    assert "the URL has a user or a password" in str(caught.value)
    assert "secret" not in str(caught.value)
