"""Compiles `inference/native` into one library; `pyproject.toml` has all else."""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

NATIVE = Path("dehusk/inference/native")
PACKAGE = ".".join(NATIVE.parts)
SHARED = f"{PACKAGE}._shared"  # what Cython needs in each of the modules

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
