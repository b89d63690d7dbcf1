import pytest

from dehusk.inference.labelers.repository import find_model, served
from dehusk.inference.labelers.version_policy import names_versions, served_versions, with_versions
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


def test_who_names_no_version_gets_the_newest_that_is_served(tmp_path) -> None:
    for version in ("7", "8"):
        (tmp_path / "model" / version).mkdir(parents=True)
        (tmp_path / "model" / version / "model.onnx").touch()
    assert find_model(tmp_path, "model")[0].version == "8"
    config = tmp_path / "model" / "config.pbtxt"
    config.write_text(with_versions("", ["7"]))
    assert served(tmp_path, "model") == ["7"]
    assert find_model(tmp_path, "model")[0].version == "7"
    assert find_model(tmp_path, "model", "8")[0].version == "8"
    config.write_text(with_versions("", ["9"]))
    with pytest.raises(ConfigurationError, match="version_policy"):
        find_model(tmp_path, "model")
