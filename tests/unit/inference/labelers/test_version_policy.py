import pytest

from dehusk.inference.labelers.repository import find_model, served
from dehusk.inference.labelers.version_policy import (
    named_trusted,
    names_versions,
    served_versions,
    trusted_version,
    with_versions,
)
from dehusk.schemas.errors import ConfigurationError

KNOWN = ["2", "9", "10"]


@pytest.mark.parametrize(
    ("policy", "versions"),
    [
        ("", ["10"]),
        ("# version_policy { all { } }", ["10"]),
        ("version_policy { latest { num_versions: 1 } }", ["10"]),
        ("version_policy { latest { num_versions: 2 } }", ["9", "10"]),
        ("version_policy: { latest { } }", ["10"]),
        ("version_policy { all { } }", KNOWN),
        ("version_policy {\n  all: {} # every one\n}", KNOWN),
        ("version_policy { specific { versions: [ 9, 2 ] } }", ["2", "9"]),
        ("version_policy { specific { versions: 9 versions: 2 } }", ["2", "9"]),
        ("version_policy { specific { versions: [ 1, 11 ] } }", []),
        ("version_policy < all < > >", KNOWN),
        ("version_policy { all { # } with a brace\n} }", KNOWN),
        ("backend: 'onnxruntime' version_policy { all { } }", KNOWN),
        ('parameters { key: "note" value { string_value: "\\" version_policy { all { } }" } }', ["10"]),
        ("of_tomorrow [ { version_policy { all { } } }, { } ]", ["10"]),
    ],
)
def test_the_versions_that_a_policy_serves(policy: str, versions: list[str]) -> None:
    assert served_versions(f'name: "model"\n{policy}\nmax_batch_size: 16\n', KNOWN) == versions


@pytest.mark.parametrize(
    "policy",
    [
        "version_policy: 3",
        "version_policy { all { }",
        "version_policy { newest { } }",
        "version_policy { all { } latest { } }",
        "version_policy { latest { num_versions: -1 } }",
        "version_policy { all { } }\nversion_policy { all { } }",
    ],
)
def test_a_policy_that_cannot_be_read_is_not_guessed(policy: str, tmp_path) -> None:
    for use in (served_versions, with_versions):
        with pytest.raises(ConfigurationError, match="version_policy cannot be read"):
            use(f'name: "model"\n{policy}\n', KNOWN)
    (tmp_path / "model" / "7").mkdir(parents=True)
    (tmp_path / "model" / "7" / "model.onnx").touch()
    (tmp_path / "model" / "config.pbtxt").write_text(policy)
    with pytest.raises(ConfigurationError, match=r"config\.pbtxt: version_policy cannot be read"):
        find_model(tmp_path, "model")


@pytest.mark.parametrize(
    "policy", ["version_policy { all { # }\n} }", "version_policy < latest < > >", "version_policy: { }"]
)
def test_the_policy_alone_is_replaced_however_it_is_written(policy: str) -> None:
    config = 'name: "model"  {}  # version_policy {{ }}\nmax_batch_size: 16\n'
    changed = with_versions(config.format(policy), ["10", "9"])
    assert changed == config.format("version_policy { specific { versions: [ 9, 10 ] } }")
    assert names_versions(changed)
    assert not names_versions(config.format(policy))


def test_a_configuration_without_a_policy_gets_one() -> None:
    assert served_versions(with_versions('name: "model"', ["2"]), KNOWN) == ["2"]


TRUSTED = 'parameters { key: "trusted_version" value: { string_value: "9" } }'


@pytest.mark.parametrize(
    ("parameters", "version"),
    [
        ("", "10"),
        (TRUSTED, "9"),
        (TRUSTED.replace("9", "11"), "10"),
        (TRUSTED.replace("trusted", "other"), "10"),
        (f"# {TRUSTED}", "10"),
        (f"{TRUSTED.replace('9', '2')} backend: 'x' {TRUSTED}", "9"),
        ('parameters [ { key: "a" }, { key: "trusted_version" value { string_value: "9" } } ]', "9"),
        ('parameters { key: "trusted_version" value { string_value: "9" of_tomorrow: 1 } }', "9"),
    ],
)
def test_the_version_that_a_configuration_trusts(parameters: str, version: str) -> None:
    config = f'name: "model"\n{parameters}\n'
    assert trusted_version(config, KNOWN) == version
    assert trusted_version(config, []) == ""
    changed = with_versions(config, KNOWN, "2")
    assert trusted_version(changed, KNOWN) == "2"
    assert with_versions(changed, KNOWN, "2") == changed
    assert trusted_version(with_versions(changed, KNOWN), KNOWN) == "2"
    again = with_versions(changed, ["9", "10"], "10")
    assert (served_versions(again, KNOWN), trusted_version(again, KNOWN)) == (["9", "10"], "10")
    assert len(again) < len(changed) + 8


def test_parameters_that_nest_too_deep_are_not_read() -> None:
    with pytest.raises(ConfigurationError, match="parameters cannot be read"):
        named_trusted(f"parameters {{ {'x { ' * 3_000}{'} ' * 3_000} }}")


def test_parameters_that_cannot_be_read_are_not_guessed() -> None:
    for use in (trusted_version, lambda config, known: with_versions(config, known, "9")):
        with pytest.raises(ConfigurationError, match="parameters cannot be read"):
            use('name: "model"\nparameters: 3\n', KNOWN)


def test_who_names_no_version_gets_the_trusted_or_the_newest_that_is_served(tmp_path) -> None:
    for version in ("7", "8"):
        (tmp_path / "model" / version).mkdir(parents=True)
        (tmp_path / "model" / version / "model.onnx").touch()
    assert find_model(tmp_path, "model")[0].version == "8"
    config = tmp_path / "model" / "config.pbtxt"
    config.write_text(with_versions("", ["7"]))
    assert served(tmp_path, "model") == ["7"]
    assert find_model(tmp_path, "model")[0].version == "7"
    assert find_model(tmp_path, "model", "8")[0].version == "8"
    config.write_text(with_versions("", ["7", "8"], trusted="7"))
    assert served(tmp_path, "model") == ["7", "8"]
    assert find_model(tmp_path, "model")[0].version == "7"
    config.write_text(with_versions("", ["9"]))
    with pytest.raises(ConfigurationError, match="version_policy"):
        find_model(tmp_path, "model")
