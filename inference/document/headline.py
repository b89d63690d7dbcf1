"""The headline at the beginning of a document: once, whether or not the page's content has it."""

import numpy as np
import numpy.typing as npt

from dehusk.inference.document.blocks import Block, Group, Heading, Line, Paragraph
from dehusk.inference.metadata.headline import same_text
from dehusk.schemas.pages import SegmentedPage


def begin_with_headline(root: Group, headline: str) -> None:
    """Let an outline begin with a headline, of level 1; one without blocks stays empty.

    If the first heading, or else the first line, says the same, it is this one.
    """
    if not root.children:
        return
    first = next((index for index, block in enumerate(root.children) if isinstance(block, Heading)), 0)
    line = _line_of(root.children[first])
    if line is not None and same_text(line.text, headline):
        del root.children[first]
    else:
        line = Line(headline)
    root.children.insert(0, Heading(1, line))


def _line_of(block: Block) -> Line | None:
    """Return the line that a block consists of, if it is a heading or a paragraph of one."""
    if isinstance(block, Heading):
        return block.line
    return block.lines[0] if isinstance(block, Paragraph) and len(block.lines) == 1 else None


def text_with_headline(text: str, headline: str, page: SegmentedPage, content: npt.NDArray[np.bool_]) -> str:
    """Return the text of a page's kept blocks below a headline, unless these have it or there are none.

    They have it if the first one, or a heading, says the same; `content` has shape [T].
    """
    if not text:
        return text
    candidates = [(int(content.argmax()), int(content.argmax()) + 1)]
    if page.headline_sources is not None:
        candidates += [(first, end) for _, first, end in page.headline_sources.headings]
    has_it = any(
        content[first:end].all() and same_text(" ".join(page.texts[first:end]), headline)
        for first, end in candidates
    )
    return text if has_it else f"{headline}\n\n{text}"
