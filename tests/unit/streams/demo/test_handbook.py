"""Pages of the handbook that dehusk ships, filled from their template."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag

import pytest
from click.testing import CliRunner

from dehusk.streams.demo.handbook import CHAPTERS, START, main, pages


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Write the site as the tutorial does."""
    folder = tmp_path / "site"
    assert CliRunner().invoke(main, [str(folder)]).exit_code == 0
    return folder


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name == "href" and value]


def test_every_page_is_reached_from_the_start_and_no_link_is_dead(site: Path) -> None:
    pages = {page.resolve() for page in site.rglob("*.html")}
    reached, waiting = set(), [(site / START).resolve()]
    while waiting:
        page = waiting.pop()
        assert page.is_file(), f"a link leads to {page}"
        if page not in reached and page.suffix == ".html":
            links = Links()
            links.feed(page.read_text())
            waiting += [
                (page.parent / urldefrag(link).url).resolve() for link in links.found if link[0] != "#"
            ]
        reached.add(page)
    assert pages <= reached
    assert len(pages) == len(CHAPTERS) >= 12


def test_nothing_of_the_template_is_left_unfilled() -> None:
    assert [path for path, html in pages() if "%%" in html] == []


def test_pages_have_their_own_title_and_the_same_footer() -> None:
    found = dict(pages())
    assert "<title>Text Blocks — The Husk and the Grain</title>" in found["guide/text-blocks.html"]
    assert "› Guide › Text Blocks</div>" in found["guide/text-blocks.html"]
    assert '<a href="../index.html">About</a>' in found["guide/text-blocks.html"]
    assert '<a href="index.html">About</a>' in found[START]
    assert '<a href="reference/reading.html">Previous: Further Reading</a>' in found[START]
    assert '<a href="../index.html">Next: The Husk and the Grain</a>' in found["reference/reading.html"]
