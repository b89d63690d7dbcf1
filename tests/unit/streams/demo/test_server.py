"""The site as a crawler meets it."""

from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from dehusk.streams.demo.server import serve


def test_a_page_is_served_with_its_content_type(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>hello")
    with serve(tmp_path) as url, urlopen(f"{url}index.html") as answer:
        assert answer.read() == b"<p>hello"
        assert answer.headers.get_content_type() == "text/html"
        assert url.startswith("http://127.0.0.1:")


def test_what_is_not_there_is_a_404_and_what_is_outside_too(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "secret.html").write_text("no")
    with serve(site) as url:
        for path in ("missing.html", "../secret.html", "%2e%2e/secret.html"):
            with pytest.raises(HTTPError, match="404") as caught:
                urlopen(url + path)
            caught.value.close()


def test_nobody_answers_afterwards(tmp_path: Path) -> None:
    with serve(tmp_path) as url:
        pass
    with pytest.raises(URLError, match="refused"):
        urlopen(url)
