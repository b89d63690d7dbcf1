"""Which labelers are offered."""

from dataclasses import replace
from pathlib import Path

from dehusk.inference.labelers import LOCAL_LABELERS
from dehusk.streams.inspection.labelers import choices
from dehusk.streams.settings import TritonSettings
from dehusk.streams.worker.settings import WorkerSettings


def repository(folder: Path, *versions: str) -> Path:
    for version in versions:
        (folder / version).mkdir(parents=True)
        (folder / version / "model.onnx").touch()
    return folder


def names(settings: WorkerSettings, folder: Path) -> list[str]:
    return [choice.name for choice in choices(replace(settings, model_repository=folder))]


def test_the_labeler_asked_for_comes_first_and_none_twice(tmp_path: Path) -> None:
    folder = repository(tmp_path, "dehusk/9", "dehusk/10", "other/2")
    everything = ["dehusk/10 (onnx)", "dehusk/9 (onnx)", "other/2 (onnx)", *LOCAL_LABELERS]
    assert names(WorkerSettings(labeler="onnx"), folder) == everything
    others = [name for name in everything if name != "declutter"]
    assert names(WorkerSettings(labeler="declutter"), folder) == ["declutter", *others]
    pinned = WorkerSettings(labeler="onnx", triton=TritonSettings(model="dehusk", version="9"))
    assert names(pinned, folder) == [everything[1], everything[0], *everything[2:]]


def test_a_server_is_one_more(tmp_path: Path) -> None:
    folder = repository(tmp_path, "dehusk/9")
    assert names(WorkerSettings(labeler="triton"), folder) == [
        "dehusk (triton)",
        "dehusk/9 (onnx)",
        *LOCAL_LABELERS,
    ]


def test_each_is_asked_as_it_is_called(tmp_path: Path) -> None:
    offered = choices(WorkerSettings(labeler="triton", model_repository=repository(tmp_path, "dehusk/9")))
    assert [choice.settings.labeler for choice in offered] == ["triton", "onnx", *LOCAL_LABELERS]
    assert offered[1].settings.triton.version == "9"
