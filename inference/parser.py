"""The HTML parser: Lexbor by way of selectolax, whose tree is read where it lies in memory.

selectolax tells where a node is (`mem_id`); `inference.native` follows it from there. What that takes for
granted is learned and checked here, once, at import.
"""

from importlib.metadata import requires, version

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError

from dehusk.inference.elements import TAGS
from dehusk.inference.native import markup
from dehusk.inference.native.layout import outline
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import BrokenReason

_PROBE = b"""
<!doctype html><html lang=en><title>t</title><body><!-- c --><p id=i class='a b' hidden data-a-long-name=1>
one &amp; <x-a>two</x-a><br><x-a-very-long-name class=c>three</x-a-very-long-name></p><table><td>four</table>
"""


def parse(html: bytes, *, scripting: bool = True) -> LexborHTMLParser:
    """The document; with scripting, what `<noscript>` holds is one text, without, it is elements.

    Raises:
        PageError: the page's elements do not fit into memory.
    """
    try:
        return LexborHTMLParser(html, options=LexborDocumentOptions.WO_EVENTS, scripting=scripting)
    except SelectolaxError as error:
        raise PageError(BrokenReason.MEMORY_BUDGET_EXCEEDED, f"{len(html)} bytes of HTML: {error}") from error


def take_numbers() -> None:
    """Learn the numbers that Lexbor has for names: they change from version to version."""
    document = parse(b"")
    markup.number_tags({tag: document.create_node(tag).tag_id for tag in TAGS})
    attributes = " ".join(f"{name}=x" for name in markup.ATTRIBUTES)
    for element in parse(f"<p {attributes}>".encode()).css("p"):
        markup.number_attributes(element.mem_id)
    for element in parse(b"<svg>").css("svg"):
        markup.number_drawings(element.mem_id)


def check_layout() -> None:
    """Compare a small tree as it lies in memory with what selectolax says of it."""
    root = parse(_PROBE).root
    seen = [_seen(node) for node in root.traverse(include_text=True)] if root is not None else []
    if root is None or outline(root.mem_id) != [each for each in seen if each is not None]:
        raise ConfigurationError(
            f"selectolax {version('selectolax')} keeps a page in memory as dehusk cannot read it; install "
            f"{next(need for need in requires('dehusk') or () if need.startswith('selectolax'))}"
        )


def _seen(node: LexborNode) -> object:
    """What `outline` should say of a node; None for comments."""
    if node.tag == "-text":
        return node.text_content
    values = [value or "" for value in node.attributes.values()]
    classes = node.attributes.get("class") or ""
    return (node.tag, values, node.id or "", classes) if node.tag and node.tag[0].isalpha() else None


take_numbers()
check_layout()
