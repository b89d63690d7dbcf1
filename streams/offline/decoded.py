"""Pages that are decoded already, and how they are sent to a process."""

from collections.abc import Sequence

from dehusk.schemas.outcomes import Broken, Skipped
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.source import Decoded, Record

Input = RawPage | Skipped | Broken


class DecodedPages:
    """The source of pages that are decoded already: what a page is sent to a process as."""

    name = "decoded"

    def recognises(self, message: Message) -> bool:  # noqa: ARG002 nothing else is sent
        """Every message."""
        return True

    def decode(self, message: Message) -> Sequence[Decoded]:
        """The page; what its line does not tell is left out."""
        url, id_ = ((message.header(name) or b"").decode("utf-8", "surrogatepass") for name in ("url", "id"))
        return (RawPage(url, message.value or b"", id_),)

    def encode(self, page: RawPage) -> Record:
        """The page's URL, identifier and HTML."""
        headers = {"url": page.url, "id": page.name}
        encoded = ((name, text.encode("utf-8", "surrogatepass")) for name, text in headers.items())
        return Record(None, page.html, tuple(encoded))


_SOURCE = DecodedPages()


def message_of(page: RawPage) -> Message:
    """The page as a process of `DecodedPages` reads it."""
    record = _SOURCE.encode(page)
    return Message(record.key, record.value, record.headers)
