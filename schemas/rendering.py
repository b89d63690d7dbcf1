"""What is wanted of a document's Markdown and HTML."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rendering:
    """Which of them a document has, and what is left out of them; its text has all."""

    markdown: bool = False
    html: bool = False
    links: bool = True
    """Whether links have addresses; their texts are kept anyhow."""
    images: bool = True
    tables: bool = True
    """Whether tables are kept; what a table lays out is no table."""

    @property
    def needs_markup(self) -> bool:
        """Whether pages must come with their markup."""
        return self.markdown or self.html


NO_RENDERING = Rendering()
"""Neither Markdown nor HTML."""
