"""The documentation, against what there is: options, reasons, metrics, links, targets, dependencies."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import click
import pytest
from prometheus_client import CollectorRegistry

from dehusk.schemas.outcomes import BrokenReason, SkipReason
from dehusk.streams.cli import cli
from dehusk.streams.cli.shared.configuration import DIFFERENT
from dehusk.streams.sources.registry import SOURCES
from dehusk.streams.topics.formats import FORMATS
from dehusk.streams.worker.input.lag import Backlog
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.training.__main__ import cli as training
from tests.kept_processes import end_kept_processes

ROOT = Path(__file__).parents[3]
FILES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
PAGES = {str(file.relative_to(ROOT)): file.read_text() for file in FILES}
EVERY_PAGE = pytest.mark.parametrize("page", PAGES)


def commands(group: click.Group = cli, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that call it, e.g. `dead-letters list`."""
    for word in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), word)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{name}{word} ")
        else:
            yield name + word, command


def options(command: click.Command) -> set[str]:
    return {"--help", *(name for parameter in command.params for name in parameter.opts)}


OPTIONS = {name: options(command) for name, command in commands()}


def calls() -> list[tuple[str, str]]:
    """Every `dehusk …` in the documentation, as its page and the words behind, to the end of the command."""
    return [
        (page, call)
        for page, text in PAGES.items()
        for call in re.findall(r"\bdehusk ((?!worker\]|COMMAND)[a-z][^`#|\n]*)", text.replace("\\\n", " "))
        if call.split()[0] in {name.split()[0] for name in OPTIONS}
    ]


@pytest.mark.parametrize(("page", "call"), calls())
def test_what_is_called_takes_these_options(page: str, call: str) -> None:
    name = max((name for name in OPTIONS if f"{call} ".startswith(f"{name} ")), key=len, default=None)
    used = set(re.findall(r"(?<!\S)--[a-z][a-z-]*", call))
    known = OPTIONS[name] if name else set().union(*OPTIONS.values())
    assert used <= known


@EVERY_PAGE
def test_options_that_are_mentioned_exist(page: str) -> None:
    mentioned = set(re.findall(r"`(--[a-z][a-z-]*)[^`]*`", PAGES[page]))
    ellipses = {option for option in mentioned if option.endswith("-")}
    known = set().union(*OPTIONS.values(), *(options(command) for _, command in commands(training)))
    assert mentioned - ellipses <= known
    assert all(any(option.startswith(start) for option in known) for start in ellipses)


def test_keys_that_are_not_as_the_option_is_called_are_told() -> None:
    names = [each.opts for _, command in commands() for each in command.params]
    keys = {first for first, *_ in names}
    others = {first.removeprefix("--") for first, *rest in names if keys.intersection(rest)}
    told = " ".join(PAGES["docs/reference/options.md"].split())
    told_keys = set(re.findall(r"the key `([a-z-]+)` \(`DEHUSK_[A-Z_]+`\)", told))
    assert told_keys == others


def test_options_of_which_none_is_for_all_commands_are_told() -> None:
    assert {name for name in DIFFERENT if f"`--{name}`" not in PAGES["docs/reference/options.md"]} == set()


def test_the_values_of_source_and_format_exist() -> None:
    text = "\n".join(PAGES.values())
    assert set(re.findall(r"--source ([a-z-]+)", text)) <= set(SOURCES)
    assert set(re.findall(r"--format ([a-z-]+)", text)) <= set(FORMATS)


def test_every_command_is_in_the_readme() -> None:
    code = set(re.findall(r"`[^`\n]+`", PAGES["README.md"]))
    assert {f"`dehusk {name.split()[0]}`" for name in OPTIONS} <= code


def test_every_format_reason_and_output_format_is_described() -> None:
    cells = set(re.findall(r"`([^`\n]+)`", PAGES["docs/reference/messages.md"]))
    described = {*SkipReason, *BrokenReason, *(name for name in SOURCES if name != "auto")}
    assert {str(name) for name in described} <= cells
    assert all(name in PAGES["docs/reference/messages.md"] for name in FORMATS)


def test_every_metric_is_described() -> None:
    registry = CollectorRegistry()
    Metrics(registry, []).watch(int, Backlog)
    described = set(re.findall(r"dehusk_[a-z_]+", PAGES["docs/reference/metrics.md"]))
    ending = {"counter": "_total"}
    names = {family.name + ending.get(family.type, "") for family in registry.collect()}
    assert described == {name for name in names if not name.startswith("process_")}


@EVERY_PAGE
def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", PAGES[page])
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as renderers make them."""
    headings = re.findall(
        r"^#+ (.*)$",
        re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL),
        re.MULTILINE,
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@EVERY_PAGE
def test_anchors_of_links_are_headings(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", PAGES[page])
    folder = (ROOT / page).parent
    assert [
        f"{path}#{anchor}"
        for path, anchor in links
        if anchor not in anchors(folder / path if path else ROOT / page)
    ] == []


@EVERY_PAGE
def test_make_targets_exist(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", PAGES[page], re.MULTILINE)) <= targets


def test_the_architecture_has_every_room() -> None:
    rooms = [
        room for package in ("inference", "streams", "streams/worker") for room in (ROOT / package).iterdir()
    ]
    named = {str(room.relative_to(ROOT)) for room in rooms if (room / "__init__.py").is_file()}
    assert {
        f"`{name}/`" for name in named if f"`{name}/`" not in PAGES["docs/explanation/architecture.md"]
    } == set()


def test_folders_that_are_named_exist() -> None:
    folders = re.findall(r"`((?:[a-z_]+/)+)`", "\n".join(PAGES.values()))
    assert {folder for folder in folders if not (ROOT / folder).is_dir()} <= {"unit/", "integration/"}


@EVERY_PAGE
def test_files_that_are_named_exist(page: str) -> None:
    """Check that all names in backticks that begin like a folder of the repository are files or folders."""
    named = set(re.findall(r"`((?:\.ci|[a-z_]+)/(?!\d)[\w./-]+)`", PAGES[page]))  # dehusk/7 is a version
    ours = {name for name in named if (ROOT / name.split("/")[0]).is_dir() and not name.startswith("build/")}
    assert {name for name in ours if not (ROOT / name).exists()} == set()


@EVERY_PAGE
def test_names_of_the_package_can_be_imported(page: str) -> None:
    for name in re.findall(r"`(dehusk\.(?:schemas|inference|streams|training)[\w.]*)[`(]", PAGES[page]):
        resolve_name(name)


def test_no_page_is_missing_from_the_index_and_the_website() -> None:
    pages = {name.removeprefix("docs/") for name in PAGES if name.startswith("docs/")}
    linked = set(re.findall(r"\]\(([^)#]+)", PAGES["docs/index.md"]))
    assert pages <= linked | {"index.md"}
    site = (ROOT / "mkdocs.yml").read_text()
    assert pages == set(re.findall(r"(?:- |: )([a-z0-9/-]+\.md)$", site, re.MULTILINE))


def test_the_recipe_of_the_readme_is_that_of_the_docs() -> None:
    recipe = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
    (shown,) = recipe.findall(PAGES["README.md"])
    assert shown in recipe.findall(PAGES["docs/how-to/crawlers.md"])


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/crawlers.md"])
def test_the_recipe_of_scrapy_names_the_release_that_awaits_its_methods(page: str) -> None:
    before, _, _ = PAGES[page].partition(
        "```python\nimport time\nfrom aiokafka import AIOKafkaProducer\n\nclass"
    )
    assert re.search(r"Scrapy\W+2\.14 or newer", before.rstrip().rpartition("\n\n")[2])


def test_an_upgrade_on_kubernetes_has_the_order_of_all_upgrades() -> None:
    _, _, upgrades = PAGES["docs/how-to/kubernetes.md"].partition("\n## Upgrades\n")
    steps = re.findall(r"^ +(\d)\. (.*?)(?=^ +\d\.|^- |^$)", upgrades, re.MULTILINE | re.DOTALL)
    assert [number for number, _ in steps] == ["1", "2"]
    first, second = (step for _, step in steps)
    assert first.index("upgrade the workers first") < first.index("then change the repository")
    assert second.index("install the new workers") < second.index("Uninstall the old release")


def test_the_readme_is_short() -> None:
    assert len(PAGES["README.md"].splitlines()) <= 170


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = [
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    names = {re.split(r"[^A-Za-z0-9-]", requirement)[0] for group in groups for requirement in group}
    rows = re.findall(
        r"^\| ([a-z][a-z0-9-]+) \|.*\| ([^|]+) \|$", PAGES["docs/reference/dependencies.md"], re.MULTILINE
    )
    reasons = {name: reason for name, reason in rows if name != "package"}
    assert set(reasons) == names - {"dehusk"}
    assert all(len(reason) > 10 for reason in reasons.values())


@pytest.mark.parametrize("page", ["docs/reference/python.md", "docs/how-to/other-extractors.md"])
def test_the_examples_in_python_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^```python\n(.*?)^```", PAGES[page], re.MULTILINE | re.DOTALL)
    try:
        exec("".join(examples), {})
    finally:
        end_kept_processes()
