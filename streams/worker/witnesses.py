"""Pages that were labeled: whether they still are says if a failure is a page's own, or the labeler's."""

from collections import deque
from collections.abc import Sequence
from functools import lru_cache

from dehusk.inference.batching import WINDOW_BLOCKS
from dehusk.inference.encoding import encode
from dehusk.inference.labeler import Labeler, encodings_read
from dehusk.inference.segmentation import segment
from dehusk.schemas.errors import ConfigurationError, NotEncodedError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, Prediction

_WITNESSES = 4
"""Pages kept of each size, all of which are asked for: where half of the requests fail, one of them does."""
_LARGEST = 1 << 16
"""Most tokens of a page that is kept, so that all of them together take little memory."""
_Size = tuple[int, int]
"""The blocks of a page that are labeled at once, and the words in a block, each as a power of two."""

_ALL = tuple(Encoding)
PROBE = encode(segment(b"<p>a line of text</p>", with_tree=True), _ALL)
"""The smallest page: what it gets says whether the labeler is there."""


class WitnessedLabeler:
    """A labeler that remembers pages of each size which it has labeled."""

    def __init__(self, labeler: Labeler) -> None:
        self._labeler = labeler
        self._witnesses: dict[_Size, deque[EncodedPage]] = {}
        self._suspect = PROBE
        """The page of whose size others failed when they were last asked."""

    @property
    def encodings(self) -> frozenset[Encoding]:
        """What the labeler's model reads of a page beside what each page has, as far as it is known."""
        return encodings_read(self._labeler)

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """The labeler's answers."""
        answers = await self._labeler.label(pages)
        for page, answer in zip(pages, answers, strict=True):
            if isinstance(answer, Prediction) and 0 < len(page.ids) <= _LARGEST:
                self._witnesses.setdefault(_size(page), deque(maxlen=_WITNESSES)).append(page)
        return answers

    async def check(self, page: EncodedPage | None = None) -> None:
        """See whether pages of this one's size are labeled: those that were before, or a stand-in.

        Without a page, those of the size that failed last.

        Raises:
            UnavailableError: the labeler did not answer.
            ConfigurationError: it rejects them, or what the labeler raises.
        """
        suspect = self._suspect if page is None else page
        self._suspect = suspect
        for answer in await self._ask(_size(suspect)):
            if isinstance(answer, Broken):
                raise ConfigurationError(f"the labeler rejects every page: {answer.detail}")
        self._suspect = PROBE

    async def _ask(self, size: _Size) -> list[Prediction | Broken]:
        """The answers to pages of a size; those that lack what the model reads by now are forgotten."""
        witnesses = list(self._witnesses.get(size, []))
        try:
            return await self._labeler.label([PROBE, *(witnesses or [_stand_in(size)])])
        except NotEncodedError:
            self._witnesses.clear()
            return await self._labeler.label([PROBE, _stand_in(size)])

    async def close(self) -> None:
        """Close the labeler."""
        await self._labeler.close()


def _size(page: EncodedPage) -> _Size:
    blocks = len(page)
    return min(blocks, WINDOW_BLOCKS).bit_length(), (len(page.ids) // max(blocks, 1)).bit_length()


@lru_cache
def _stand_in(size: _Size) -> EncodedPage:
    """A page of that size, for the time when no page of the stream was labeled yet."""
    blocks, words = (1 << each >> 1 for each in size)
    return encode(segment(b"<p>%s</p>" % (b"word " * words) * blocks, with_tree=True), _ALL)
