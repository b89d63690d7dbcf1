"""The HTML parser: Lexbor by way of selectolax, whose tree is read where it lies in memory.

selectolax tells where a node is (`mem_id`); `inference.native` follows it from there, as the headers of one
version have it, and no other version is let in.
"""

import selectolax

from dehusk.inference.native.layout import SELECTOLAX_VERSION
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import BrokenReason


def check_version() -> None:
    """Refuse a selectolax whose memory is not known.

    Raises:
        ConfigurationError: another version is installed.
    """
    if selectolax.__version__ != SELECTOLAX_VERSION:
        raise ConfigurationError(
            f"selectolax {selectolax.__version__} is installed, whose memory dehusk cannot read; "
            f"install selectolax=={SELECTOLAX_VERSION}"
        )


check_version()  # before what another version may not have

from selectolax.lexbor import (  # noqa: E402
    LexborDocumentOptions,
    LexborHTMLParser,
    LexborNode,
    SelectolaxError,
)

Node = LexborNode
"""A node of a document."""


def parse(html: bytes, *, scripting: bool = True) -> LexborHTMLParser:
    """The document; with scripting, what `<noscript>` holds is one text, without, it is elements.

    Raises:
        PageError: the page's elements do not fit into memory.
    """
    try:
        return LexborHTMLParser(html, options=LexborDocumentOptions.WO_EVENTS, scripting=scripting)
    except SelectolaxError as error:
        raise PageError(BrokenReason.MEMORY_BUDGET_EXCEEDED, f"{len(html)} bytes of HTML: {error}") from error
