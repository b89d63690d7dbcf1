"""Removes boilerplate from web pages: of every page of a running crawl, or of those at hand.

    import dehusk

    document = dehusk.extract(html, url="https://example.org/")
    print(document.title, document.text)

`extract` cleans one page, `extract_many` many in processes with limits; an `Extractor` keeps its options.
A name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dehusk.extractor import Extractor, extract, metadata
    from dehusk.many import Extractions, extract_many
    from dehusk.schemas.documents import CleanedBlock, Comments
    from dehusk.schemas.documents import CleanedDocument as Document
    from dehusk.schemas.errors import ConfigurationError, DehuskError, ExtractionError
    from dehusk.schemas.metadata import Metadata, MetadataLevel
    from dehusk.schemas.options import Favor

    __version__: str

__all__ = [
    "CleanedBlock",
    "Comments",
    "ConfigurationError",
    "DehuskError",
    "Document",
    "ExtractionError",
    "Extractions",
    "Extractor",
    "Favor",
    "Metadata",
    "MetadataLevel",
    "__version__",
    "extract",
    "extract_many",
    "metadata",
]

_ORIGINS = {
    "CleanedBlock": "dehusk.schemas.documents:CleanedBlock",
    "Comments": "dehusk.schemas.documents:Comments",
    "ConfigurationError": "dehusk.schemas.errors:ConfigurationError",
    "DehuskError": "dehusk.schemas.errors:DehuskError",
    "Document": "dehusk.schemas.documents:CleanedDocument",
    "ExtractionError": "dehusk.schemas.errors:ExtractionError",
    "Extractions": "dehusk.many:Extractions",
    "Extractor": "dehusk.extractor:Extractor",
    "Favor": "dehusk.schemas.options:Favor",
    "Metadata": "dehusk.schemas.metadata:Metadata",
    "MetadataLevel": "dehusk.schemas.metadata:MetadataLevel",
    "extract": "dehusk.extractor:extract",
    "extract_many": "dehusk.many:extract_many",
    "metadata": "dehusk.extractor:metadata",
}
"""Origin of each public name, as `module:name`."""


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("importlib.metadata").version("dehusk")
    if name not in _ORIGINS:
        raise AttributeError(f"module 'dehusk' has no attribute {name!r}")
    module, _, attribute = _ORIGINS[name].partition(":")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
