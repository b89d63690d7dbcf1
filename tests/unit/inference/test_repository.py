import pytest

from inference.repository import DEFAULT_REPOSITORY, find_model, versions
from schemas.errors import ConfigurationError
from schemas.pages import ModelVersion


@pytest.fixture
def repository(tmp_path):
    for version in ("1", "9", "10", "draft"):
        (tmp_path / "boilernet" / version).mkdir(parents=True)
        (tmp_path / "boilernet" / version / "model.onnx").touch()
    (tmp_path / "boilernet" / "11").mkdir()
    return tmp_path


def test_versions_are_numbered_directories_with_a_model_oldest_first(repository):
    assert versions(repository, "boilernet") == ["1", "9", "10"]
    assert versions(repository, "other") == []


def test_the_newest_version_is_found_unless_another_is_asked_for(repository):
    assert find_model(repository, "boilernet") == (
        ModelVersion("boilernet", "10"),
        repository / "boilernet" / "10" / "model.onnx",
    )
    assert find_model(repository, "boilernet", "9")[0] == ModelVersion("boilernet", "9")


@pytest.mark.parametrize(("model", "version"), [("boilernet", "2"), ("boilernet", "11"), ("other", "")])
def test_what_is_not_there_is_an_error_that_says_what_is(repository, model, version):
    with pytest.raises(ConfigurationError, match=r"versions there: (1, 9, 10|none)"):
        find_model(repository, model, version)


def test_dehusk_comes_with_a_model():
    assert find_model(DEFAULT_REPOSITORY, "boilernet")[1].stat().st_size > 1_000_000
