"""Compiles `inference/native` into one library; `pyproject.toml` has all else."""

import os
import runpy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NATIVE = Path("dehusk/inference/native")
BUILD = Path("build/cython")
PACKAGE = ".".join(NATIVE.parts)
SHARED = f"{PACKAGE}._shared"  # what Cython needs in each of the modules


def write_columns() -> bool:
    """Write the columns of `features.py` as constants of C; return True if others were there."""
    features = runpy.run_path("dehusk/inference/encoding/features.py")
    lines = [
        '"""Columns of blocks, links and addresses; `setup.py` writes them by `encoding/features.py`."""',
        "",
        "cdef enum:",
        f"    FLAG_COLUMNS = {len(features['FLAGS'])}",
        f"    SUBTREE_LEVELS = {features['SUBTREE_LEVELS']}",
        *(
            f"    {each.name.upper()} = {column}"
            for group in ("BLOCK_FEATURES", "LINK_FEATURES", "ADDRESS_FEATURES")
            for column, each in enumerate(features[group])
        ),
    ]
    text, file = "\n".join(lines) + "\n", NATIVE / "feature.pxd"
    is_new = not file.exists() or file.read_text() != text
    if is_new:
        file.write_text(text)
    return is_new


def has_newer_declarations() -> bool:
    """Return True if a declaration has changed since the modules were compiled.

    Cython does not follow `from … cimport` of a module.
    """
    compiled = [file.stat().st_mtime for file in (BUILD / NATIVE).glob("*.c")]
    return bool(compiled) and min(compiled) < max(file.stat().st_mtime for file in NATIVE.glob("*.pxd"))


class ParallelBuild(build_ext):
    """Build with a compiler for each processor."""

    def build_extension(self, ext: Extension) -> None:
        """Compile the sources of an extension side by side, and link them."""
        compile_all = self.compiler.compile

        def compile_each(sources: list[str], **options: object) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as compilers:
                objects = compilers.map(lambda source: compile_all([source], **options), sources)
                return [file for compiled in objects for file in compiled]

        self.compiler.compile = compile_each
        super().build_extension(ext)


modules = cythonize(
    [Extension(SHARED, []), *sorted(map(str, NATIVE.glob("*.pyx")))],
    build_dir=str(BUILD),
    shared_utility_qualified_name=SHARED,
    force=write_columns() or has_newer_declarations(),
)
library = Extension(
    f"{PACKAGE}._library",
    [
        *(source for module in modules for source in module.sources),
        *sorted(map(str, NATIVE.glob("answer_*.c"))),
    ],
    include_dirs=[str(NATIVE)],
    depends=sorted(map(str, NATIVE.glob("*.h"))),
    extra_compile_args=["-O2", "-g0"],
)
setup(ext_modules=[library], cmdclass={"build_ext": ParallelBuild})
