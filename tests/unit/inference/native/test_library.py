from importlib import import_module
from pathlib import Path

import pytest

from dehusk.inference import native

SOURCES = sorted(Path(native.__file__).parent.glob("*.pyx"))


def test_all_modules_are_in_one_library() -> None:
    modules = [import_module(f"{native.__name__}.{source.stem}") for source in SOURCES]
    assert len(modules) > 10
    assert len({module.__file__ for module in modules}) == 1
    assert len({id(module) for module in modules}) == len(modules)


def test_a_module_that_is_not_in_the_library_cannot_be_imported() -> None:
    with pytest.raises(ImportError, match="PyInit_missing"):
        import_module(f"{native.__name__}.missing")
