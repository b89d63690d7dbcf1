import subprocess
import sys
from importlib.metadata import version

import pytest

import dehusk


def test_every_public_name_is_there() -> None:
    assert dir(dehusk) == dehusk.__all__
    assert all(getattr(dehusk, name) is not None for name in dehusk.__all__)
    assert dehusk.__version__ == version("dehusk")


def test_no_other_name_is_there() -> None:
    with pytest.raises(AttributeError, match="extrakt"):
        dehusk.extrakt  # noqa: B018


def test_nothing_is_loaded_before_it_is_used() -> None:
    said = "import sys, dehusk; print({'numpy', 'selectolax', 'onnxruntime', 'faust'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", said], text=True) == "set()\n"
