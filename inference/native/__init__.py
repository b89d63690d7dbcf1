"""The compiled steps, in Cython: the walk over the parser's tree and the words of a text.

All modules are in one library: they share much of Cython's own code.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from types import ModuleType

_LIBRARY = f"{__name__}._library"


class _Finder:
    """Finder of the modules of this package for Python's import."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the library for any module of this package; None for others, and if it was not compiled."""
        if not fullname.startswith(f"{__name__}."):
            return None
        library = PathFinder.find_spec(_LIBRARY, path, target)
        if library is None or library.origin is None:
            return None
        loader = ExtensionFileLoader(fullname, library.origin)
        return spec_from_file_location(fullname, library.origin, loader=loader)


sys.meta_path.insert(0, _Finder)
