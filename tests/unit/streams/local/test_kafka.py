from pathlib import Path
from uuid import UUID

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.local import kafka
from dehusk.streams.local.kafka import KafkaNode, kafka_nodes


def nodes(directory: Path, count: int) -> list[KafkaNode]:
    return kafka_nodes(range(9000, 9000 + 2 * count), directory, Path("java"), Path("jars"))


def properties(node: KafkaNode) -> dict[str, str]:
    node.preparation()
    lines = (node.directory / "server.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def formatted(node: KafkaNode) -> None:
    """What Kafka's own formatting leaves behind."""
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


def test_new_clusters_differ(tmp_path: Path) -> None:
    assert nodes(tmp_path / "a", 1)[0].cluster != nodes(tmp_path / "b", 1)[0].cluster


def test_a_cluster_of_another_size_is_refused(tmp_path: Path) -> None:
    for node in nodes(tmp_path, 3):
        formatted(node)
    with pytest.raises(ConfigurationError, match="data of 3 Kafka nodes, not of 1"):
        nodes(tmp_path, 1)


def test_a_node_that_nobody_listens_for_is_not_ready(tmp_path: Path) -> None:
    assert not nodes(tmp_path, 1)[0].is_ready()
