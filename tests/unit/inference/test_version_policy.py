import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from dehusk.inference.repository import DEFAULT_REPOSITORY, find_model, served
from dehusk.inference.version_policy import names_versions, served_versions, with_versions
from dehusk.schemas.errors import ConfigurationError

MODELS = sorted(file.parent.name for file in DEFAULT_REPOSITORY.glob("*/config.pbtxt"))
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
    ],
)
def test_the_versions_that_a_policy_serves(policy: str, versions: list[str]) -> None:
    assert served_versions(f'name: "model"\n{policy}\nmax_batch_size: 16\n', KNOWN) == versions


@pytest.mark.parametrize(
    "model", sorted(file.parent.name for file in DEFAULT_REPOSITORY.glob("*/config.pbtxt"))
)
def test_only_the_policy_of_a_configuration_is_changed(model: str) -> None:
    text = (DEFAULT_REPOSITORY / model / "config.pbtxt").read_text()
    config, changed = (
        text_format.Parse(each, model_config_pb2.ModelConfig())
        for each in (text, with_versions(text, ["10", "9"]))
    )
    assert list(changed.version_policy.specific.versions) == [9, 10]
    changed.version_policy.CopyFrom(config.version_policy)
    assert changed == config
    assert not names_versions(text)
    assert names_versions(with_versions(text, ["9"]))


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
    with pytest.raises(ConfigurationError, match="names none of the versions that are there"):
        find_model(tmp_path, "model")
