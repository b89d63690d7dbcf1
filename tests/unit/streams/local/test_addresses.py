import socket
from contextlib import ExitStack

import orjson

from dehusk.streams.local.addresses import LOOPBACK, Addresses, free_ports


def test_free_ports_differ_and_can_be_listened_on() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    with ExitStack() as sockets:
        for port in ports:
            sockets.enter_context(socket.socket()).bind((LOOPBACK, port))


def test_free_ports_are_none_of_those_that_were_named() -> None:
    others = range(20_000, 31_990)
    assert set(free_ports(5, besides=others)) <= set(range(31_990, 32_000))


def test_free_ports_are_none_that_outgoing_connections_get() -> None:
    assert max(free_ports(50)) < 32_768


def test_json_is_one_line_with_the_five_addresses() -> None:
    line = Addresses("h:1", "redis://h:2/0", "h:3", "h:4", "/d").to_json()
    assert b"\n" not in line
    assert list(orjson.loads(line)) == ["kafka", "redis", "triton_grpc", "triton_http", "directory"]
