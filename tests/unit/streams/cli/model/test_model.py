"""`dehusk model` on a repository alone; with a Triton it is tested in tests/integration."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, versions
from dehusk.inference.labelers.triton_client import READY, ServedVersion
from dehusk.schemas.errors import ConfigurationError, DehuskError, UnavailableError
from dehusk.schemas.rollout import Part, Scope
from dehusk.streams.cli import cli
from dehusk.streams.cli.model import model_actions
from dehusk.streams.models.names import split_name
from dehusk.streams.models.overview import OnTriton
from dehusk.streams.rollout.control import Control
from dehusk.streams.rollout.transitions import first_state, promote, with_canary
from dehusk.streams.settings import ControlTopic
from tests.unit.streams.models import graphs


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return graphs.write_repository(tmp_path / "repository")


def call(*words: object, answer: str = "") -> Result:
    return CliRunner().invoke(cli, ["model", *map(str, words)], input=answer)


def refused(*words: object, answer: str = "") -> DehuskError:
    error = call(*words, answer=answer).exception
    assert isinstance(error, DehuskError)
    return error


def listed(repository: Path) -> dict[str, Any]:
    ended = call("list", "--without-triton", "--repository", repository, "--json")
    return {each["version"]: each for each in orjson.loads(ended.stdout)["versions"]}


def test_versions_are_listed_with_what_they_are(repository: Path) -> None:
    found = listed(repository)
    assert {version: each["is_default"] for version, each in found.items()} == {"1": False, "9": True}
    assert found["9"]["stored"]["signature"] == "tokens 2 crc32"
    assert found["9"]["stored"]["bytes"] == len(graphs.always(0.5))
    assert len(found["9"]["stored"]["sha256"]) == 64


def test_a_version_that_cannot_be_read_is_listed_with_its_reason(repository: Path) -> None:
    (repository / "model" / "1" / "model.onnx").write_bytes(b"no model")
    ended = call("list", "--without-triton", "--repository", repository)
    assert ended.exit_code == 3
    assert "not-onnx" in ended.stdout
    assert "model/9" in ended.stdout


def test_versions_whose_policy_cannot_be_read_are_listed_with_its_reason(repository: Path) -> None:
    config = repository / "model" / "config.pbtxt"
    config.write_text("version_policy { newest { } }")
    ended = call("list", "--without-triton", "--repository", repository)
    assert ended.exit_code == 3
    assert ended.stdout.count("version_policy cannot be read") == 2
    assert str(config) in ended.stdout


def test_where_triton_is_away_what_it_serves_is_unknown(repository: Path) -> None:
    ended = call("list", "--triton", "127.0.0.1:1", "--model-repository", repository)
    assert [line.split("\t")[:3] for line in ended.stdout.splitlines()[1:]] == [
        ["model/1", "", "unknown"],
        ["model/9", "yes", "unknown"],
    ]
    assert "Triton at 127.0.0.1:1" in str(ended.exception)
    assert "--without-triton lists them alone" in str(ended.exception)


def test_the_list_shows_what_roll_outs_name(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    control, state = Control(), first_state("1", "me")
    control.states[Scope("model", "news")] = with_canary(state, Part("9", 0.05), "me")
    control.states[Scope("model", "b")] = promote(state, "9", "me")

    async def read(topic: ControlTopic) -> Control:
        assert topic.name == "control"
        return control

    monkeypatch.setattr(model_actions, "read_existing", read)
    words = ("list", "--without-triton", "--repository", repository, "--control-topic", "control")
    assert [line.split("\t")[-1] for line in call(*words).stdout.splitlines()] == [
        "in roll-outs",
        "previous in b, serving in news",
        "serving in b, canary 5% in news",
    ]
    found = orjson.loads(call(*words, "--json").stdout)["versions"]
    assert found[1]["roles"][1] == {"group": "news", "role": "canary", "share": 0.05}


def test_a_model_that_is_not_there_is_named(repository: Path) -> None:
    error = refused("show", "other", "--without-triton", "--repository", repository)
    assert str(error) == "there is no model 'other'"


def test_a_removed_version_is_named_only_while_triton_has_it_loaded(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = [ServedVersion("model", "1", "UNAVAILABLE", "unloaded"), ServedVersion("model", "9", READY, "")]

    async def read_versions(_: object) -> OnTriton:
        return OnTriton(index, {"model": "9"})

    monkeypatch.setattr(model_actions, "read_versions", read_versions)
    places = ("--triton", "127.0.0.1:1", "--model-repository", repository)
    names = ["model/1", "model/9"]
    assert [line.split("\t")[0] for line in call("list", *places).stdout.splitlines()[1:]] == names
    call("remove", "model/1", "--without-triton", "--repository", repository, "--yes")
    assert [line.split("\t")[0] for line in call("list", *places).stdout.splitlines()[1:]] == names[1:]
    assert str(refused("show", "model/2", *places)).endswith("; versions: 9")
    index[0] = ServedVersion("model", "1", READY, "")
    assert [line.split("\t")[0] for line in call("list", *places).stdout.splitlines()[1:]] == names


def test_a_version_is_shown(repository: Path) -> None:
    (repository / "model" / "9" / "card.md").write_text("# A card\x1b[31m\n")
    ended = call("show", "model", "--without-triton", "--repository", repository)
    assert ended.exit_code == 0
    for text in ("model/9", "ids UINT32", "prob FP32", "article, forum", "# A card"):
        assert text in ended.stdout
    assert "versions: 1, 9" in str(refused("show", "model/2", "--without-triton", "--repository", repository))


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("model, version 7", "trained as model/7, and so called by its card:\n\n"),
        ("other, version 9", "trained as other/9, and so called by its card:\n\n"),
        ("model, version 9", ""),
        ("A card", ""),
    ],
)
def test_a_version_that_was_added_under_another_number_is_shown_with_the_one_it_was_trained_as(
    repository: Path, title: str, told: str
) -> None:
    (repository / "model" / "9" / "card.md").write_text(f"# {title}\n\nText\n")
    shown = call("show", "model/9", "--without-triton", "--repository", repository).stdout
    assert shown.endswith(f"notice, shop\n\n{told}# {title}\n\nText\n\n")


def test_where_triton_is_away_a_version_is_shown_as_the_repository_has_it(repository: Path) -> None:
    words = ("show", "model/9", "--triton", "127.0.0.1:1", "--model-repository", repository)
    ended = call(*words)
    assert "model/9\tyes\tunknown\t" in ended.stdout
    assert isinstance(ended.exception, UnavailableError)
    assert "Triton at 127.0.0.1:1" in str(ended.exception)
    assert str(ended.exception).endswith("what the repository (--without-triton asks it alone) has")
    (missing,) = orjson.loads(call(*words, "--json").stdout)["missing"]
    assert "Triton at 127.0.0.1:1" in missing
    alone = call("show", "model/9", "--without-triton", "--model-repository", repository, "--json")
    assert (alone.exit_code, orjson.loads(alone.stdout)["missing"]) == (0, [])


def test_a_version_that_only_triton_may_have_is_not_said_to_be_nowhere(repository: Path) -> None:
    error = refused("show", "model/8", "--triton", "127.0.0.1:1", "--model-repository", repository)
    assert "there is no version 8 of model 'model'; versions: 1, 9; Triton at 127.0.0.1:1" in str(error)


def test_where_both_are_away_nothing_is_said_of_a_version(tmp_path: Path) -> None:
    error = refused("show", "model/9", "--triton", "127.0.0.1:1", "--model-repository", tmp_path / "none")
    assert isinstance(error, UnavailableError)
    assert "there is no model repository" in str(error)


def test_a_version_is_verified_in_process(repository: Path) -> None:
    ended = call("verify", "model/1", "--labeler", "onnx", "--repository", repository, "--model", "model")
    assert ended.exit_code == 0, ended.output
    assert "of model/9, the default version" in ended.stdout
    assert ended.stdout.endswith("verified (onnx)\n")


def test_what_is_neither_a_path_nor_a_version_is_said_to_be_neither(repository: Path) -> None:
    error = refused("verify", "nosuch/dir", "--model-repository", repository)
    assert str(error).startswith("there is no file or directory nosuch/dir, and 'dir' is no version")
    error = refused("verify", "nosuch/14", "--model-repository", repository)
    assert str(error).startswith(
        f"there is no file or directory nosuch/14, and {repository} holds no model 'nosuch'"
    )
    error = refused("verify", "/nosuch", "--model-repository", repository)
    assert str(error) == "there is no file or directory /nosuch, and a version is named MODEL/VERSION"


def test_a_version_that_is_not_to_be_served_ends_with_a_status_of_its_own(tmp_path: Path) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(2.0))
    ended = call("verify", place, "--labeler", "onnx", "--json")
    assert ended.exit_code == 3
    assert orjson.loads(ended.stdout)["fault"] == "not-probabilities"


def test_a_version_that_is_too_slow_is_not_to_be_served(repository: Path, tmp_path: Path) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    words = ("verify", place, "--labeler", "onnx", "--repository", repository, "--model", "model", "--json")
    ended = call(*words, "--most-latency", "0.0001")
    assert ended.exit_code == 3
    assert orjson.loads(ended.stdout)["fault"] == "too-slow"
    assert call(*words, "--most-latency", "10000").exit_code == 0


def test_a_card_that_is_a_link_is_not_verified(tmp_path: Path) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    (place / "card.md").symlink_to("/etc/hostname")
    ended = call("verify", place, "--labeler", "onnx", "--json")
    assert orjson.loads(ended.stdout)["fault"] == "symbolic-link"


def test_what_is_left_out_is_named_without_what_moves_a_terminal(repository: Path, tmp_path: Path) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    (place / "a\x1b[31m").touch()
    words = ("add", place, "--repository", repository, "--model", "model", "--no-verify")
    ended = CliRunner().invoke(cli, ["model", *map(str, words)], input="y\n", color=True)
    assert "no part of a version" in ended.stderr
    assert "\x1b" not in ended.stderr


def test_a_configuration_beside_a_version_of_a_known_model_is_named_as_not_copied(
    repository: Path, tmp_path: Path
) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    (place / "config.pbtxt").write_text((repository / "model" / "config.pbtxt").read_text())
    words = ("add", place, "--repository", repository, "--no-verify", "--yes", "--model")
    assert f"{place / 'config.pbtxt'} is not copied" in call(*words, "model").stderr
    assert not (repository / "model" / "10" / "config.pbtxt").exists()
    assert "is not copied" not in call(*words, "new").stderr
    assert (repository / "new" / "config.pbtxt").exists()


def test_a_version_that_lies_in_the_folder_of_another_model_is_told_by_its_name(
    repository: Path, tmp_path: Path
) -> None:
    words = ("--repository", repository, "--model", "model", "--labeler", "onnx")
    ended = call("add", DEFAULT_REPOSITORY / "web2text" / "1", *words)
    assert ended.exit_code == 3
    assert "wrong-config: " in ended.stderr
    assert "/web2text/1 is of another model: is --model web2text meant?" in ended.stderr
    in_no_model = graphs.write_version(tmp_path / "new", graphs.without_kinds())
    assert "another model" not in call("add", in_no_model, *words).stderr


def test_what_triton_was_not_asked_to_load_stays_and_is_named(repository: Path, tmp_path: Path) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    words = ("add", place, "--repository", repository, "--model", "model", "--labeler", "onnx", "--load")
    error = refused(*words, "--triton", "127.0.0.1:1")
    assert str(error).startswith(f"{repository / 'model' / '10'} is added, and not loaded: Triton at")
    assert versions(repository, "model") == ["1", "9", "10"]


def test_the_number_of_a_version_that_was_removed_is_not_given_again(
    repository: Path, tmp_path: Path
) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    words = ("add", place, "--repository", repository, "--model", "model", "--no-verify", "--hold")
    removal = ("remove", "model/10", "--repository", repository, "--without-triton")
    assert call(*words, answer="y\n").exit_code == 0
    assert "whether or not a roll-out needs it" in call(*removal, answer="y\n").stderr
    assert "documents may name it" in str(refused(*words, "--version", "10", answer="y\n"))
    assert call(*words, answer="y\n").exit_code == 0
    assert versions(repository, "model") == ["1", "9", "11"]


def test_without_a_triton_the_way_without_is_named(tmp_path: Path) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    error = refused("verify", place, "--triton", "127.0.0.1:1")
    assert isinstance(error, UnavailableError)
    assert "--labeler onnx" in str(error)


def test_a_version_is_added_unchecked_only_if_that_is_meant(repository: Path, tmp_path: Path) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(2.0))
    words = ("add", place, "--repository", repository, "--model", "model", "--no-verify")
    assert "nothing is added" in str(refused(*words, answer="n\n"))
    assert "nothing is added" in str(refused(*words))
    assert versions(repository, "model") == ["1", "9"]
    ended = call(*words, answer="y\n")
    assert "model canary model/10 --share 0.05`, which has Triton serve it" in ended.stdout
    assert versions(repository, "model") == ["1", "9", "10"]


def test_a_version_is_added_under_its_number_and_waits(repository: Path, tmp_path: Path) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    words = ("add", place, "--repository", repository, "--model", "model", "--labeler", "onnx", "--hold")
    ended = call(*words, "--version", "12")
    assert ended.exit_code == 0, ended.output
    assert "not served before version_policy" in ended.stdout
    assert ended.stdout.endswith("model canary model/12 --share 0.05 --without-triton`.\n")
    assert {version: each["is_default"] for version, each in listed(repository).items()} == {
        "1": False,
        "9": True,
        "12": False,
    }
    assert "versions are immutable" in str(refused(*words, "--version", "12"))


def test_a_version_is_removed_if_that_is_meant(repository: Path) -> None:
    words = ("remove", "model/1", "--without-triton", "--repository", repository)
    assert "nothing is deleted" in str(refused(*words, answer="n\n"))
    assert call(*words, "--yes").stdout == "removed model/1\n"
    assert versions(repository, "model") == ["9"]


@pytest.mark.parametrize(
    "words", [("remove", "model"), ("verify", ".", "--labeler", "rules"), ("add", ".", "--hold", "--load")]
)
def test_what_makes_no_sense_is_a_wrong_command_line(words: tuple[str, ...]) -> None:
    assert call(*words).exit_code == 2


@pytest.mark.parametrize(
    "name", ["../x", "a/b/c", "model/08", "model/0", "model/", "", ".staging-x", "model/-1"]
)
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(ConfigurationError, match="is no"):
        split_name(name)


def test_names_are_of_models_and_versions() -> None:
    assert split_name("dehusk") == ("dehusk", "")
    assert split_name("dehusk-2.a/17") == ("dehusk-2.a", "17")
