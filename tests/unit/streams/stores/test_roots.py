from pathlib import Path

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.stores.errors import NotStoredError, StoreAwayError, StoreError, is_below
from dehusk.streams.stores.roots import Root
from dehusk.streams.stores.stored import StoredPath, stored_path
from tests.web_server import web_server


@pytest.mark.parametrize(
    ("root", "reference", "name"),
    [
        ("https://host/pages", "https://host/pages/a/b.html", "a/b.html"),
        ("https://host/pages/", "https://host/pages/a?b=c", "a?b=c"),
        ("https://host/pages/", "https://host/pages2/a", None),
        ("https://host/pages/", "https://host.evil/pages/a", None),
        ("https://host/pages/", "https://me@host/pages/a", None),
        ("https://host/pages/", "https://host:444/pages/a", None),
        ("https://host/pages/", "http://host/pages/a", None),
        ("https://host", "https://host@evil/a", None),
        ("https://host/", "/data/a", None),
        ("HTTPS://host/pages", "https://host/pages/a", "a"),
        ("https://host/pages", "HTTPS://host/pages/a", "a"),
        ("s3://pages/crawl", "s3a://pages/crawl/a", "a"),
        ("s3a://pages/crawl", "s3://pages/crawl/a", "a"),
        ("s3://pages/crawl", "gs://pages/crawl/a", None),
    ],
)
def test_a_url_lies_below_a_root_of_its_server_and_folder_alone(monkeypatch, root, reference, name):
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    place = stored_path(root)
    assert place is not None
    assert Root.of(place).below(reference) == name


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("/data/pages/a/b.html", "a/b.html"),
        ("file:///data/pages/a%20b.html", "a b.html"),
        ("/data/pages2/a", None),
        ("/data/pages", None),
        ("file://host/data/pages/a", None),
        ("s3://data/pages/a", None),
    ],
)
def test_a_path_lies_below_a_root_of_its_folder_alone(reference, name):
    assert Root.of(Path("/data/pages")).below(reference) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        ".",
        "../a",
        "a/../../b",
        "/a",
        "a//b",
        "a/",
        "%2e%2e/a",
        "a/%2E./b",
        "..\\a",
        "a/..%5cb",
        "%2fa",
    ],
)
def test_no_name_leads_out_of_its_root(tmp_path, name):
    assert not is_below(name)
    with pytest.raises(StoreError, match="is no name below"):
        Root.of(tmp_path).open(name)


def test_a_file_is_read_from_its_offset(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a..b").write_bytes(b"0123456789")
    with Root.of(tmp_path).open("b/a..b", 4) as file:
        assert file.read() == b"456789"
    with pytest.raises(NotStoredError, match="no file 'c'"):
        Root.of(tmp_path).open("c")
    with pytest.raises(StoreError, match="ends before"):
        Root.of(tmp_path).open("b/a..b", 1 << 70)


def test_an_object_is_read_below_its_url_without_leaving_its_server():
    with web_server() as server, web_server() as other:
        server.objects["/pages/a"] = b"0123456789"
        server.redirects["/pages/b"] = f"{other.url}/secret"
        other.objects["/secret"] = b"secret"
        root = Root.of(StoredPath(f"{server.url}/pages"))
        with root.open("a", 2, 3) as file:
            assert file.read() == b"234"
        with pytest.raises(StoreError, match="which is not asked"):
            root.open("b")
        assert not other.requests


def test_a_store_that_is_away_is_not_asked_for_each_message():
    with web_server() as server:
        server.objects["/a"] = b"x"
        server.statuses = [503] * 100
        root = Root.of(StoredPath(server.url), 0.1)
        for _ in range(10):
            with pytest.raises(StoreAwayError, match="503"):
                root.open("a")
        assert len(server.requests) < 4


def test_a_root_is_a_folder_without_a_query():
    with pytest.raises(ConfigurationError, match="has no query"):
        Root.of(StoredPath("https://host/pages?signature=1"))
