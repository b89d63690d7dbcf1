import pytest

from dehusk.streams.stores.errors import StoreAwayError, StoreError
from dehusk.streams.stores.stored import Access, StoredPath
from tests.web_server import web_server

pytest.importorskip("obstore", reason="the extra stores is not installed")

LIST = b"""<ListBucketResult><Name>unlisted</Name><KeyCount>1</KeyCount><IsTruncated>false</IsTruncated>
<Contents><Key>crawl//a.html</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>"a"</ETag><Size>1</Size>
</Contents></ListBucketResult>"""


def test_a_folder_that_cannot_be_listed_is_named_with_the_key_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with web_server() as server:
        server.objects["/unlisted"] = LIST
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
        with pytest.raises(StoreError, match=r"does not give s3://unlisted/crawl: .*crawl//a\.html"):
            list(StoredPath("s3://unlisted/crawl/").files())


def test_no_error_tells_the_password_of_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server() as server:
        server.statuses = [503] * 100
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url.replace("://", "://me:not-to-be-told@"))
        monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
        with pytest.raises(StoreAwayError) as caught:
            StoredPath("s3://pages/a.html", Access(patience=0.1)).fetch(0, 1)
    assert f"performing GET {server.url}/pages/a.html" in str(caught.value)
    assert "not-to-be-told" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "setting"),
    [("AWS_ACCESS_KEY_ID", "not-to-be-told\n"), ("AWS_ENDPOINT_URL", "me:not-to-be-told@host")],
)
def test_settings_that_no_request_can_hold_are_an_error(
    monkeypatch: pytest.MonkeyPatch, name: str, setting: str
) -> None:
    for each in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(each, "a")
    monkeypatch.setenv(name, setting)
    with pytest.raises(
        StoreAwayError, match="no request can hold the credentials or the endpoint of s3://pages"
    ) as caught:
        StoredPath("s3://pages/a.html", Access(patience=0.2)).fetch(0, 1)
    assert "not-to-be-told" not in str(caught.value)
