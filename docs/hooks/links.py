"""MkDocs' hooks: files of the repository that pages link to, outside `docs/`, become files of the site."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
FOLDER = "repository"
"""Folder of the site that holds these files, at their paths in the repository."""
LINK = re.compile(r"\]\((\.\./[^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that pages link to; a link to none stays, and fails the build."""
    for page in files.documentation_pages():
        for target, _ in LINK.findall(page.content_string):
            path = _outside(page.src_uri, target)
            if path and (ROOT / path).is_file() and f"{FOLDER}/{path}" not in files.src_uris:
                content = (ROOT / path).read_bytes()
                files.append(File.generated(config, f"{FOLDER}/{path}", content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Point the links of a page that lead out of `docs/` at these files."""

    def pointed(link: re.Match[str]) -> str:
        path = _outside(page.file.src_uri, link[1])
        if path is None:
            return link[0]
        here = posixpath.dirname(page.file.src_uri)
        return f"]({posixpath.relpath(f'{FOLDER}/{path}', here)}{link[2] or ''})"

    return LINK.sub(pointed, markdown)


def _outside(page: str, target: str) -> str | None:
    """Return the path in the repository of a link that leads out of `docs/`, else None."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return None if path.startswith(("docs/", "../")) else path
