import socket
from pathlib import Path

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.local.addresses import LOOPBACK
from dehusk.streams.local.ports import assign_ports


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ports.json"


def test_the_next_start_has_the_same_ports(file: Path) -> None:
    first = assign_ports(["kafka-1", "redis"], file)
    assert len(set(first.numbers.values())) == 2
    assert assign_ports(["kafka-1", "redis"], file) == first


def test_what_a_start_does_without_keeps_its_ports(file: Path) -> None:
    first = assign_ports(["redis", "triton"], file)
    assign_ports(["redis", "kafka-1"], file)
    assert assign_ports(["redis", "triton"], file) == first


def test_a_port_that_another_program_has_taken_is_replaced_and_told(file: Path) -> None:
    before = assign_ports(["redis", "triton"], file).numbers
    with socket.create_server((LOOPBACK, before["redis"])):
        after = assign_ports(["redis", "triton"], file)
    assert after.taken == {"redis": before["redis"]}
    assert after.numbers["triton"] == before["triton"]
    assert after.numbers["redis"] not in before.values()
    assert assign_ports(["redis", "triton"], file).numbers == after.numbers


def test_a_port_whose_connections_were_closed_a_moment_ago_is_not_taken(file: Path) -> None:
    port = assign_ports(["redis"], file).numbers["redis"]
    with socket.create_server((LOOPBACK, port)) as server:
        client = socket.create_connection((LOOPBACK, port))
        server.accept()[0].close()
        client.close()
    assert assign_ports(["redis"], file).taken == {}


@pytest.mark.parametrize("content", ["", "[]", '{"redis": "here"}', '{"redis": null}'])
def test_a_file_that_is_damaged_is_named(file: Path, content: str) -> None:
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=r"ports\.json is damaged: remove it"):
        assign_ports(["redis"], file)
