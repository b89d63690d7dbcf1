"""Compiles `inference/native` into one library; `pyproject.toml` has all else."""

import runpy
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

NATIVE = Path("dehusk/inference/native")
PACKAGE = ".".join(NATIVE.parts)
SHARED = f"{PACKAGE}._shared"  # what Cython needs in each of the modules


def write_columns() -> None:
    """Write the columns of `inference/features.py` as constants of C, unless they are there and the same."""
    features = runpy.run_path("dehusk/inference/features.py")
    lines = [
        '"""The columns of `BLOCK_FEATURES`; `setup.py` writes them by `inference/features.py`."""',
        "",
        "cdef enum:",
        f"    FLAG_COLUMNS = {len(features['FLAGS'])}",
        f"    SUBTREE_LEVELS = {features['SUBTREE_LEVELS']}",
        *(f"    {each.name.upper()} = {column}" for column, each in enumerate(features["BLOCK_FEATURES"])),
    ]
    text, file = "\n".join(lines) + "\n", NATIVE / "feature.pxd"
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


write_columns()
modules = cythonize(
    [Extension(SHARED, []), *sorted(map(str, NATIVE.glob("*.pyx")))],
    build_dir="build/cython",
    shared_utility_qualified_name=SHARED,
)
library = Extension(
    f"{PACKAGE}._library",
    [source for module in modules for source in module.sources],
    include_dirs=[str(NATIVE)],
    depends=sorted(map(str, NATIVE.glob("*.h"))),
    extra_compile_args=["-O2", "-g0"],
)
setup(ext_modules=[library])
