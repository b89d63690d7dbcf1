import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.local import jars

COMPLETE = [f"{name}-{jars.KAFKA_VERSION}.jar" for name in jars._OF_ONE_VERSION]


def resolver(*names: str) -> Callable[[Path], list[Path]]:
    """Stands for Maven Central."""

    def resolve(repository: Path) -> list[Path]:
        repository.mkdir(parents=True)
        for name in names:
            (repository / name).write_bytes(b"jar")
        return [repository / name for name in names]

    return resolve


def refuse(_repository: Path) -> list[Path]:
    raise ConnectionError("no route to host")


def test_jars_lie_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_resolve", resolver(*COMPLETE, "slf4j-simple-1.7.36.jar"))
    folder = jars.kafka_jars(tmp_path)
    assert {file.name for file in folder.iterdir()} == {*COMPLETE, "slf4j-simple-1.7.36.jar"}


def test_jars_are_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_resolve", resolver(*COMPLETE))
    first = jars.kafka_jars(tmp_path)
    monkeypatch.setattr(jars, "_resolve", refuse)
    assert jars.kafka_jars(tmp_path) == first


def test_offline_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_resolve", refuse)
    with pytest.raises(UnavailableError, match=f"Go online once, or copy {tmp_path}/kafka-4.3.0 from"):
        jars.kafka_jars(tmp_path)


def test_a_full_disk_is_not_taken_for_a_missing_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(_repository: Path) -> list[Path]:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(jars, "_resolve", fill)
    with pytest.raises(ConfigurationError, match=f"cannot write {tmp_path}: No space left on device"):
        jars.kafka_jars(tmp_path)


def test_a_cache_that_cannot_be_written_is_named() -> None:
    with pytest.raises(ConfigurationError, match="cannot write /proc/nope: No such file"):
        jars.kafka_jars(Path("/proc/nope"))


def test_an_older_client_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = [name.replace("kafka-clients-4.3.0", "kafka-clients-3.9.1") for name in COMPLETE]
    monkeypatch.setattr(jars, "_resolve", resolver(*mixed))
    with pytest.raises(UnavailableError, match=r"no version 4\.3\.0 of kafka-clients"):
        jars.kafka_jars(tmp_path)


def test_what_was_fetched_in_part_is_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_resolve", resolver("kafka-clients-3.9.1.jar"))
    with pytest.raises(UnavailableError):
        jars.kafka_jars(tmp_path)
    monkeypatch.setattr(jars, "_resolve", resolver(*COMPLETE))
    assert {file.name for file in jars.kafka_jars(tmp_path).iterdir()} == set(COMPLETE)
