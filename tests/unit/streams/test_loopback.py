"""What is served to this machine alone."""

import pytest

from dehusk.streams.loopback import is_loopback, is_own_name


def test_addresses_of_this_machine_alone_are_known() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "192.168.1.2", "worker.example.org")))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]"])
def test_on_this_machine_its_own_names_are_known(host: str) -> None:
    for named in ("localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:8080"):
        assert is_own_name(named, host)
    for named in (
        "",
        ":80",
        "evil.test",
        "localhost.evil.test",
        "127.0.0.1.evil.test",
        "192.168.1.2",
        "::1",
        "a b",
    ):
        assert not is_own_name(named, host)


def test_elsewhere_any_address_is_one_and_the_given_name() -> None:
    assert is_own_name("192.168.1.2:80", "0.0.0.0")
    assert is_own_name("Inspector.example.org:80", "inspector.example.org")
    assert not is_own_name("evil.test", "0.0.0.0")
