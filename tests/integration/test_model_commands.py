"""`dehusk model` as it is called, on a real Triton."""

import subprocess
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import orjson
import pytest

from dehusk.inference.labelers.repository import versions
from dehusk.inference.labelers.version_policy import with_versions
from dehusk.streams.local.stack import LocalStack
from tests.commands import DEHUSK
from tests.unit.streams.models import graphs


def call(triton: LocalStack, *words: object, status: int = 0) -> dict[str, Any]:
    """Return the output of a command of `dehusk model`, read as JSON."""
    places = ["--triton", triton.addresses.triton_grpc, "--repository", str(triton._repository), "--json"]
    command = [DEHUSK, "model", *map(str, words), *places]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, input="n\n")
    assert ended.returncode == status, ended.stderr
    found: dict[str, Any] = orjson.loads(ended.stdout) if ended.stdout else {"told": ended.stderr}
    return found


def states(triton: LocalStack, *, status: int = 0) -> dict[str, tuple[str, bool]]:
    found = call(triton, "list", status=status)["versions"]
    return {each["version"]: (each["state"], each["is_default"]) for each in found}


def test_a_version_is_added_listed_shown_and_removed(
    triton: LocalStack, repository: Path, tmp_path: Path
) -> None:
    new = graphs.write_version(tmp_path / "new", graphs.always(0.25), 0.25)
    (new / "card.md").write_text("# A small model\n")
    verified = call(triton, "verify", new, "--model", "model")
    assert (verified["ok"], verified["beside"]) == (True, "model/1")
    assert states(triton) == {"1": ("READY", True)}
    assert call(triton, "add", new, "--model", "model", "--hold") == {
        "added": "model/2",
        "directory": str(repository / "model" / "2"),
        "waits": True,
    }
    assert states(triton) == {"1": ("READY", True), "2": ("", False)}
    shown = call(triton, "show", "model/2")
    assert shown["card"] == "# A small model\n"
    assert shown["golden_pages"] == ["article", "forum", "notice", "shop"]
    assert shown["tensors"]["outputs"] == [{"name": "prob", "data_type": "FP32"}]
    assert shown["statistics"] is None
    of_served = call(triton, "show", "model")
    assert of_served["version"] == "1"
    assert of_served["statistics"]["requests"] > 0
    refused = call(triton, "remove", "model/1", "--yes", status=1)["told"]
    assert "is the default version" in refused
    assert "nothing is deleted" in call(triton, "remove", "model/2", status=1)["told"]
    assert call(triton, "remove", "model/2", "--yes") == {"removed": "model/2"}
    assert versions(repository, "model") == ["1"]


def test_a_version_that_fails_is_named_and_not_added(
    triton: LocalStack, repository: Path, tmp_path: Path
) -> None:
    bad = graphs.write_version(tmp_path / "bad", graphs.always(float("nan")))
    for words in (("verify", bad), ("add", bad), ("verify", bad, "--labeler", "onnx")):
        found = call(triton, *words, "--model", "model", status=3)
        assert (found["ok"], found["fault"]) == (False, "not-finite")
    assert versions(repository, "model") == ["1"]
    assert "nothing is added" in call(triton, "add", bad, "--no-verify", "--model", "model", status=1)["told"]


def test_a_version_that_triton_cannot_load_is_listed_with_its_reason(
    triton: LocalStack, repository: Path, tmp_path: Path
) -> None:
    config = repository / "model" / "config.pbtxt"
    nonsense = graphs.model([graphs.node("Nonsense", ["zeros"], "prob")], [])
    graphs.write_version(repository / "model" / "7", nonsense)
    config.write_text(config.read_text().replace("versions: [ 1 ]", "versions: [ 1, 7 ]"))
    load = f"http://{triton.addresses.triton_http}/v2/repository/models/model/load"
    with pytest.raises(HTTPError, match="400"):
        urlopen(Request(load, method="POST"))
    found = {each["version"]: each for each in call(triton, "list", status=3)["versions"]}
    assert (found["7"]["state"], found["1"]["is_default"]) == ("UNAVAILABLE", True)
    assert "Nonsense" in found["7"]["reason"]


def test_a_version_that_triton_cannot_load_is_taken_away_again(
    triton: LocalStack, repository: Path, tmp_path: Path
) -> None:
    nonsense = graphs.model([graphs.node("Nonsense", ["zeros"], "prob")], [])
    place = graphs.write_version(tmp_path / "new", nonsense)
    before, config = versions(repository, "model"), repository / "model" / "config.pbtxt"
    config.write_text(with_versions(config.read_text(), ["1", "17"]))
    words = ("add", place, "--model", "model", "--version", "17", "--no-verify", "--load", "--yes")
    found = call(triton, *words, status=3)
    assert (found["fault"], "taken away again" in found["message"]) == ("not-loaded", True)
    assert versions(repository, "model") == before
    assert call(triton, "list", status=3)["versions"][0]["state"] == "READY"


def test_what_is_missing_is_said(triton: LocalStack, repository: Path, tmp_path: Path) -> None:
    def ended(*words: object) -> subprocess.CompletedProcess[str]:
        command = [DEHUSK, "model", "list", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    no_triton = ended("--triton", "127.0.0.1:1", "--repository", repository)
    assert "Triton at 127.0.0.1:1" in no_triton.stderr
    assert "these are the repository's" in no_triton.stderr
    assert ("model/1" in no_triton.stdout, no_triton.returncode) == (True, 1)
    on_purpose = ended("--without-triton", "--repository", repository)
    assert (on_purpose.stderr, "model/1" in on_purpose.stdout, on_purpose.returncode) == ("", True, 0)
    no_repository = ended("--triton", triton.addresses.triton_grpc, "--repository", tmp_path / "none")
    assert f"there is no model repository {tmp_path / 'none'}" in no_repository.stderr
    assert ("model/1" in no_repository.stdout, no_repository.returncode) == (True, 1)
    nothing = ended("--triton", "127.0.0.1:1", "--repository", tmp_path / "none")
    assert nothing.returncode == 1
    assert nothing.stdout == ""
