"""Removes boilerplate from web pages: of every page of a running crawl, or of those at hand.

    import dehusk

    document = dehusk.extract(html, url="https://example.org/")
    print(document.title, document.text)

`extract` cleans one page; an `Extractor` has options and cleans many. A name is loaded when it is first used.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dehusk.extractor import Extractor, extract
    from dehusk.schemas.documents import CleanedBlock, Comments
    from dehusk.schemas.documents import CleanedDocument as Document
    from dehusk.schemas.errors import ConfigurationError, DehuskError, ExtractionError
    from dehusk.schemas.metadata import Metadata, MetadataLevel

    __version__: str

__all__ = [
    "CleanedBlock",
    "Comments",
    "ConfigurationError",
    "DehuskError",
    "Document",
    "ExtractionError",
    "Extractor",
    "Metadata",
    "MetadataLevel",
    "__version__",
    "extract",
]

_ORIGINS = {
    "CleanedBlock": "dehusk.schemas.documents:CleanedBlock",
    "Comments": "dehusk.schemas.documents:Comments",
    "ConfigurationError": "dehusk.schemas.errors:ConfigurationError",
    "DehuskError": "dehusk.schemas.errors:DehuskError",
    "Document": "dehusk.schemas.documents:CleanedDocument",
    "ExtractionError": "dehusk.schemas.errors:ExtractionError",
    "Extractor": "dehusk.extractor:Extractor",
    "Metadata": "dehusk.schemas.metadata:Metadata",
    "MetadataLevel": "dehusk.schemas.metadata:MetadataLevel",
    "extract": "dehusk.extractor:extract",
}
"""Origin of each public name, as `module:name`."""


def __getattr__(name: str) -> object:
    if name == "__version__":
        return version("dehusk")
    if name not in _ORIGINS:
        raise AttributeError(f"module 'dehusk' has no attribute {name!r}")
    module, _, attribute = _ORIGINS[name].partition(":")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
