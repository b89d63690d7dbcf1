"""Inspection of a page, and what each labeler says of it."""

import json
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from dehusk.inference.labelers.labeler import LOCAL_LABELERS
from dehusk.schemas.errors import ExtractionError
from dehusk.schemas.pages import RawPage
from dehusk.streams.inspection import inspection as module
from dehusk.streams.inspection.inspection import Labelers, inspect, list_choices, open_inspector_pool
from dehusk.streams.inspection.steps import Showing
from dehusk.streams.settings import MIB, PageLimits, TritonSettings
from dehusk.streams.worker_settings import WorkerSettings

PROSE = "A paragraph of prose that has words enough for the rules to hold it for the content of a page. " * 3
PAGE = f"""<html><title>T</title><body><ul><li><a href=/>Home</a><li><a href=/b>About</a></ul>
<h1>Head</h1><p>{PROSE}</p><div class=print>{PROSE}</div><p hidden>Hidden words</p>""".encode()


async def test_views_explain_every_block(inspecting) -> None:
    async with inspecting(PAGE) as inspection:
        page, view = json.loads(inspection.page), json.loads(await inspection.first_view())
    texts = [block["text"] for block in page["blocks"]]
    assert (page["title"], page["url"], page["labelers"][0]) == (
        "Head",
        "https://example.org/a",
        "rules",
    )
    assert len(texts) == len(view["kinds"]) == len(view["why"]) == len(view["content"])
    kept, copy, hidden = (
        texts.index(PROSE.strip()),
        texts.index("Hidden words") - 1,
        texts.index("Hidden words"),
    )
    assert view["kinds"][kept] == "content"
    assert view["reasons"][copy] == "repeat"
    assert view["sentences"][view["why"][copy]].endswith(f"what block {kept + 1} says, which is kept.")
    assert view["reasons"][hidden] == "unlikely"
    assert page["blocks"][hidden]["hidden"]
    assert view["text"] == [["Head\n\n", texts.index("Head")], [PROSE.strip(), kept]]
    assert view["markdown"] == [["# Head\n\n", texts.index("Head")], [PROSE.strip(), kept]]
    assert view["comments"] is None


async def test_every_labeler_has_a_view(inspecting) -> None:
    async with inspecting(PAGE) as inspection:
        views = [json.loads(view) for view in await inspection.all_views()]
        names = json.loads(inspection.page)["labelers"]
    said = [(view["model"], view["labeler"]) for view in views]
    assert names == [f"{model} (onnx)" if labeler == "onnx" else labeler for model, labeler in said]
    of_default = views[[view["model"].startswith("dehusk/") for view in views].index(True)]
    assert of_default["comment"] is not None
    assert of_default["comments"] == []


async def test_a_page_without_text_is_shown(inspecting) -> None:
    async with inspecting(b"<p>") as inspection:
        assert json.loads(inspection.page)["blocks"] == []
        assert json.loads(await inspection.first_view())["text"] == []


async def test_a_page_that_needs_much_memory_is_not_denied(inspecting) -> None:
    """As the worker, which cleans it with a third of the memory, and without what other labelers read."""
    paragraph = " ".join(f"word{number % 977}" for number in range(60))
    html = "".join(f'<p class="c{number % 7}">{paragraph} {number}</p>' for number in range(6_000)).encode()
    assert len(html) > 2_500_000
    async with inspecting(html) as inspection:
        page = json.loads(inspection.page)
        read = [page["labelers"].index(name) for name in ("rules", "web2text/1 (onnx)", "declutter")]
        views = [json.loads(await inspection.view(number)) for number in read]
    assert len(page["blocks"]) == 6_000
    assert "refusal" not in page
    assert [view.get("error") for view in views] == [None] * 3


async def test_memory_that_one_labeler_lacks_is_no_denial_of_the_page() -> None:
    paragraph = " ".join(f"word{number % 977}" for number in range(60))
    html = "".join(f'<p class="c{number % 7}">{paragraph} {number}</p>' for number in range(2_000)).encode()
    settings = WorkerSettings(labeler="rules", page=PageLimits(large_bytes=7 * MIB))
    async with (
        open_inspector_pool(settings) as pool,
        aclosing(Labelers(list_choices(settings))) as labelers,
    ):
        inspection = await inspect(RawPage("https://example.org/a", html), pool, labelers)
        number = [choice.name for choice in labelers.offered].index("web2text/1 (onnx)")
        error = json.loads(await inspection.view(number))["error"]
    assert error.startswith("memory-budget-exceeded: web2text/1 (onnx) reads more of a page than its blocks")
    assert error.endswith("the page itself is read, and other labelers label it")


async def test_a_labeler_that_fails_says_so_and_is_asked_again(inspecting, monkeypatch) -> None:
    async with inspecting(PAGE) as inspection:
        label = inspection._labelers.label
        monkeypatch.setattr(inspection._labelers, "label", _failing)
        assert json.loads(await inspection.view(1)) == {"error": "not-html: it fails"}
        monkeypatch.setattr(inspection._labelers, "label", label)
        assert "kinds" in json.loads(await inspection.view(1))


async def _failing(*_: object) -> None:
    raise ExtractionError("not-html", "it fails")


async def test_an_original_that_cannot_be_shown_leaves_the_blocks(inspecting, monkeypatch) -> None:
    monkeypatch.setattr(module, "Showing", lambda html, texts, url: Showing(html, None, url))
    async with inspecting(PAGE) as inspection:
        page = json.loads(inspection.page)
    assert page["refusal"].startswith("internal-error: TypeError")
    assert page["blocks"]


def repository(folder: Path, *versions: str) -> Path:
    for version in versions:
        (folder / version).mkdir(parents=True)
        (folder / version / "model.onnx").touch()
    return folder


def names(settings: WorkerSettings, folder: Path) -> list[str]:
    return [choice.name for choice in list_choices(replace(settings, model_repository=folder))]


def test_the_labeler_asked_for_comes_first_and_none_twice(tmp_path: Path) -> None:
    folder = repository(tmp_path, "dehusk/9", "dehusk/10", "other/2")
    everything = ["dehusk/10 (onnx)", "dehusk/9 (onnx)", "other/2 (onnx)", *LOCAL_LABELERS]
    assert names(WorkerSettings(labeler="onnx"), folder) == everything
    others = [name for name in everything if name != "declutter"]
    assert names(WorkerSettings(labeler="declutter"), folder) == ["declutter", *others]
    pinned = WorkerSettings(labeler="onnx", triton=TritonSettings(model="dehusk", version="9"))
    assert names(pinned, folder) == [everything[1], everything[0], *everything[2:]]


def test_a_newer_version_that_does_not_serve_is_a_choice_of_its_own(tmp_path: Path) -> None:
    folder = repository(tmp_path, "dehusk/9", "dehusk/10")
    (folder / "dehusk/config.pbtxt").write_text("version_policy { specific { versions: [ 9 ] } }")
    offered = list_choices(WorkerSettings(labeler="onnx", model_repository=folder))
    assert [(choice.name, choice.settings.triton.version) for choice in offered[:2]] == [
        ("dehusk/9 (onnx)", "9"),
        ("dehusk/10 (onnx)", "10"),
    ]


def test_a_server_is_one_more(tmp_path: Path) -> None:
    folder = repository(tmp_path, "dehusk/9")
    assert names(WorkerSettings(labeler="triton"), folder) == [
        "dehusk (triton)",
        "dehusk/9 (onnx)",
        *LOCAL_LABELERS,
    ]


def test_each_is_asked_as_it_is_called(tmp_path: Path) -> None:
    offered = list_choices(
        WorkerSettings(labeler="triton", model_repository=repository(tmp_path, "dehusk/9"))
    )
    assert [choice.settings.labeler for choice in offered] == ["triton", "onnx", *LOCAL_LABELERS]
    assert offered[1].settings.triton.version == "9"
