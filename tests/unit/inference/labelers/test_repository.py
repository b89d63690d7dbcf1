import pytest

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model, versions
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion


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


@pytest.mark.parametrize("name", ["007", "0", "٣", "9" * 19, "-1"])
def test_folders_that_triton_takes_for_no_versions_are_none(repository, name):
    (repository / "boilernet" / name).mkdir()
    (repository / "boilernet" / name / "model.onnx").touch()
    assert versions(repository, "boilernet") == ["1", "9", "10"]


def test_a_version_of_which_nothing_can_be_told_is_not_passed_over(repository):
    (repository / "boilernet" / "11" / "model.onnx").symlink_to("model.onnx")  # no right, for any user
    assert find_model(repository, "boilernet")[0].version == "11"


def test_a_name_that_no_folder_can_have_is_an_error(repository):
    with pytest.raises(ConfigurationError, match=r"cannot read .*File name too long"):
        find_model(repository, 300 * "a")


def test_the_newest_version_is_found_unless_another_is_asked_for(repository):
    assert find_model(repository, "boilernet") == (
        ModelVersion("boilernet", "10"),
        repository / "boilernet" / "10" / "model.onnx",
    )
    assert find_model(repository, "boilernet", "9")[0] == ModelVersion("boilernet", "9")


@pytest.mark.parametrize("version", ["2", "11"])
def test_a_version_that_is_not_there_is_an_error_that_says_which_are(repository, version):
    with pytest.raises(ConfigurationError, match=r"versions there: 1, 9, 10$"):
        find_model(repository, "boilernet", version)


@pytest.mark.parametrize("version", ["", "9"])
def test_a_model_that_is_not_there_is_an_error_that_says_which_are(repository, version):
    (repository / "another" / "1").mkdir(parents=True)
    (repository / "another" / "1" / "model.onnx").touch()
    (repository / "empty").mkdir()
    with pytest.raises(ConfigurationError, match=r"'other'.* another, boilernet$"):
        find_model(repository, "other", version)


def test_a_repository_without_models_says_so(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ConfigurationError, match="models there: none"):
            find_model(place, "boilernet")


def test_dehusk_comes_with_a_model():
    assert find_model(DEFAULT_REPOSITORY, "boilernet")[1].stat().st_size > 1_000_000
