"""The handbook that dehusk ships, a site of ordinary pages: `python -m dehusk.streams.demo.handbook FOLDER`.

`site/` has the content of each page, and the template that gives all of them the same navigation and footer.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import click

from dehusk.streams.web.local_pages import fill

START = "index.html"
CHAPTERS = (
    START,
    "guide/boilerplate.html",
    "guide/text-blocks.html",
    "guide/link-density.html",
    "guide/sequence-labeling.html",
    "guide/block-frequencies.html",
    "guide/encodings.html",
    "guide/delivery.html",
    "guide/dead-letters.html",
    "crawlers/scrapy.html",
    "crawlers/archives.html",
    "reference/glossary.html",
    "reference/reading.html",
)
"""Paths of the pages, in the order in which they are read."""
_OTHER_FILES = ("style.css", "reference/glossary.txt")
_SITE = Path(__file__).parent / "site"
_HEADING = re.compile(r"<h1>(.*)</h1>")


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and the HTML of each page."""
    template = (_SITE / "template.html").read_text("utf-8")
    contents = [(_SITE / path).read_text("utf-8") for path in CHAPTERS]
    titles = [_HEADING.findall(content)[0] for content in contents]
    for number, path in enumerate(CHAPTERS):
        part, _, _ = path.rpartition("/")
        root = {"root": "../" if part else ""}
        before, after = number - 1, (number + 1) % len(CHAPTERS)
        parts = {
            "title": titles[number],
            "part": part.capitalize() or "Start",
            "content": fill(contents[number], root),
            "previous": CHAPTERS[before],
            "previous-title": titles[before],
            "next": CHAPTERS[after],
            "next-title": titles[after],
        }
        yield path, fill(template, root | parts)


def write_handbook(folder: Path) -> None:
    """Write the handbook as a static site into a folder, which is made if it is missing."""
    for path, html in pages():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(html, "utf-8")
    for path in _OTHER_FILES:
        shutil.copyfile(_SITE / path, folder / path)


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def main(folder: Path) -> None:
    """Write the handbook into a folder."""
    write_handbook(folder)


if __name__ == "__main__":
    main()
