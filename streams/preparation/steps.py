"""What the processes of `dehusk.streams.preparation.pool` do with a page, before its labels and after."""

from collections.abc import Callable
from dataclasses import dataclass

from dehusk.inference.language import load_model
from dehusk.inference.sites import SiteKey, open_naming
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Encoding, Message
from dehusk.schemas.pickled import PickledByFields
from dehusk.streams.preparation.extraction import LabeledPage, Writing, WrittenDocument
from dehusk.streams.preparation.preparation import Outcomes, prepare
from dehusk.streams.sources.source import Source


@dataclass(frozen=True, slots=True)
class ToEncode(PickledByFields):
    """A message whose pages are to have the encodings that the labeler reads beside what each page has."""

    message: Message
    encodings: frozenset[Encoding]


Task = Message | ToEncode | LabeledPage
Steps = Callable[[Task], Outcomes | WrittenDocument | Broken]


def open_steps(
    open_source: Callable[[], Source],
    max_blocks: int,
    writing: Writing,
    site_key: SiteKey = SiteKey.HOST,
) -> Steps:
    """The steps for messages of a source, which is opened now, and for the pages that came out of them."""
    load_model()
    source, name_site = open_source(), open_naming(site_key)
    with_markup = writing.rendering.needs_markup

    def take(task: Task) -> Outcomes | WrittenDocument | Broken:
        if isinstance(task, LabeledPage):
            return writing.extract(task)
        message, encodings = (task.message, task.encodings) if isinstance(task, ToEncode) else (task, ())
        return prepare(
            source,
            message,
            max_blocks,
            name_site,
            writing.metadata,
            with_markup=with_markup,
            encodings=encodings,
        )

    return take
