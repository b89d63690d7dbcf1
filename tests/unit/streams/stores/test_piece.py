import socket

import pytest

from dehusk.streams.stores import piece
from dehusk.streams.stores.errors import StoreAwayError
from dehusk.streams.stores.piece import answer_seconds
from dehusk.streams.stores.stored import Access, StoredPath


@pytest.mark.parametrize(("whole", "seconds"), [(0.1, 5), (2, 5), (10, 10), (60, 20)])
def test_a_request_waits_little_longer_than_all_of_them_may(whole: float, seconds: float) -> None:
    assert answer_seconds(whole) == seconds


@pytest.mark.timeout(15)
@pytest.mark.parametrize("url", ["http://{}/a", "webhdfs://{}/a", "s3://silent/a"])
def test_a_silent_store_is_away(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    if url.startswith("s3"):
        pytest.importorskip("obstore", reason="the extra stores is not installed")
    monkeypatch.setattr(piece, "_LEAST_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
        monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
        with pytest.raises(StoreAwayError, match="does not give"):
            StoredPath(url.format(address), Access(0.1)).fetch(0, 1)
