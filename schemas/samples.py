"""Texts of a site that are kept as samples of what it repeats."""

from dataclasses import dataclass

from dehusk.schemas.pickled import PickledByFields


@dataclass(frozen=True, slots=True)
class TextSample(PickledByFields):
    """The text of a block that many pages of its site have, or that the statistics of the site corrected."""

    fingerprint: int
    """As in `EncodedPage.fingerprints`."""
    text: str
    """Its first characters."""
    pages: int
    """Pages of the site that have it, this one included."""
    dropped: bool = False
    """Whether the document lacks it because of what is known of the site."""
    saved: bool = False
    """Whether the document has it because of that."""
