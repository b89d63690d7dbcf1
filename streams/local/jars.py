"""The jars of Apache Kafka, resolved from Maven Central once and kept."""

import errno
import fcntl
import shutil
from pathlib import Path
from xml.etree.ElementTree import ParseError

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.installation import how_to_install
from dehusk.streams.local.folder import writing

KAFKA_VERSION = "4.3.0"
_COORDINATES = (
    f"org.apache.kafka:kafka_2.13:jar:{KAFKA_VERSION}:compile",
    "org.slf4j:slf4j-simple:jar:1.7.36:compile",
)
_FULL = {errno.ENOSPC, errno.EDQUOT}
_OF_ONE_VERSION = (
    "kafka_2.13",
    "kafka-clients",
    "kafka-metadata",
    "kafka-raft",
    "kafka-server",
    "kafka-storage",
)
"""Artifacts that must be of Kafka's version: another dependency's parent can make Maven pick older ones."""


def kafka_jars(cache: Path) -> Path:
    """The folder in the cache that holds Kafka's jars; they are fetched when they are not there.

    Raises:
        ConfigurationError: jgo, which fetches them, is not installed, or the cache cannot be written.
        UnavailableError: Maven Central could not be reached, or gave other versions than Kafka's.
    """
    complete = cache / f"kafka-{KAFKA_VERSION}"
    if complete.exists():
        return complete
    with writing(cache):
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not complete.exists():  # another stack may have fetched them meanwhile
                _fetch_into(complete)
    return complete


def _fetch_into(complete: Path) -> None:
    partial = complete.with_name(f"{complete.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    _fetch(partial)
    partial.rename(complete)


def _fetch(folder: Path) -> None:
    repository = folder / "maven"
    try:
        jars = _resolve(repository)
    except (OSError, RuntimeError, ParseError) as error:  # of requests, of jgo, of an answer that is no POM
        if isinstance(error, OSError) and (error.filename or error.errno in _FULL):
            raise  # of the cache
        raise UnavailableError(
            f"Kafka's jars could not be fetched from Maven Central ({error}). Go online once, or copy"
            f" {folder.with_suffix('')} from a machine that has it."
        ) from error
    _check_versions(jars)
    for jar in jars:
        jar.rename(folder / jar.name)
    shutil.rmtree(repository)


def _resolve(repository: Path) -> list[Path]:
    try:
        from jgo.maven import MavenContext  # noqa: PLC0415 only needed once, and only in the extra `local`
    except ImportError as error:
        raise ConfigurationError(
            f"jgo, which fetches Kafka's jars, is not installed: {how_to_install('local')}"
        ) from error
    maven = MavenContext(repo_cache=repository)
    wanted = [maven.create_dependency(coordinate) for coordinate in _COORDINATES]
    named, transitive = maven.resolver.resolve(wanted)
    return [dependency.artifact.resolve() for dependency in (*named, *transitive)]


def _check_versions(jars: list[Path]) -> None:
    names = {jar.name for jar in jars}
    missing = [name for name in _OF_ONE_VERSION if f"{name}-{KAFKA_VERSION}.jar" not in names]
    if missing:
        raise UnavailableError(f"Maven Central gave no version {KAFKA_VERSION} of {', '.join(missing)}")
