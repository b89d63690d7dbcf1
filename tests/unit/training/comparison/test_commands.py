import lzma
import os
import signal
import subprocess
import sys

import orjson
import pytest
from click.testing import CliRunner

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.training.__main__ import cli, main
from dehusk.training.comparison import commands

STORY = "The mill stood by the river, and its wheel turned night and day for the whole village. "
HTML = f"<ul>{'<li><a href=/>Home</a>' * 5}</ul><article><p>{STORY * 4}<p>{STORY * 3}</article>"
PAGE = {"id": "1", "url": "http://mill.example/", "html": HTML, "main_content": STORY * 7}


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "mills-val.jsonl.xz"
    blog = PAGE | {"id": "2", "page_type": "blog", "main_content": STORY * 4}
    lines = [PAGE, blog, PAGE | {"id": "3", "main_content": None}]
    file.write_bytes(lzma.compress(b"\n".join(map(orjson.dumps, lines))))
    return file


def compared(*arguments):
    return CliRunner().invoke(cli, ["compare", *map(str, arguments)], catch_exceptions=False)


def test_tables_and_a_chart_are_printed_and_what_was_left_out_is_told(data):
    result = compared("--labeler", "rules", "--labeler", "boilernet", "--rounds", 1, data)
    assert result.exit_code == 0
    assert "mills: text of 2 pages of 1 site\n" in result.stdout
    assert "block F1 of boilerplate by type of page" in result.stdout
    assert "mills: word F1 by ms/page" in result.stdout
    told = ["2 pages, 2 labelers", "1 page without gold text or labels: left out"]
    assert result.stderr.splitlines() == told


def test_all_is_printed_as_json(data):
    found = orjson.loads(compared("--labeler", "rules", "--json", data).stdout)
    (mills,) = found["collections"]
    (rules,) = mills["rows"]
    assert (mills["name"], mills["pages"], mills["blocks"]) == ("mills", 2, 14)
    assert rules["content"] == {"blocks": 3, "precision": 0.75, "recall": 1.0, "f1": pytest.approx(6 / 7)}
    assert rules["f1"] == {"mean": pytest.approx((1 + 8 / 11) / 2), "error": None}
    assert [each["name"] for each in mills["types"]] == ["unknown", "blog"]
    assert [page["judgements"]["rules"]["recall"] for page in found["pages"]] == [1.0, 1.0]


def test_tables_are_printed_as_markdown_and_collections_side_by_side(data, tmp_path):
    other = tmp_path / "wheels.jsonl.xz"
    other.write_bytes(data.read_bytes())
    shown = compared("--labeler", "rules", "--rounds", 1, "--markdown", data, other).stdout
    assert "**wheels: 14 blocks**\n\n| labeler | content precision |" in shown
    beginning = (
        "**All collections: word F1**\n\n| labeler | mills (2) | wheels (2) |\n|---|--:|--:|\n| rules |"
    )
    assert beginning in shown


def test_who_was_trained_on_a_file_is_marked_by_its_name_or_its_bytes(data, tmp_path):
    models = tmp_path / "models" / "boilernet"
    models.parent.mkdir()
    models.symlink_to(DEFAULT_REPOSITORY / "boilernet")
    known = tmp_path / "wcxb-dev.jsonl.xz"
    known.write_bytes(data.read_bytes())
    arguments = ("--repository", models.parent, "--labeler", "boilernet", "--rounds", 1, "--json")
    found = orjson.loads(compared(*arguments, known, data).stdout)
    marks = {each["name"]: each["rows"][0]["is_trained_on_them"] for each in found["collections"]}
    assert marks == {"wcxb": True, "mills": False}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--labeler", "nobody"], "Error: there is no labeler 'nobody'; known are rules"),
        (["--labeler", "rules", "--against", "boilernet"], "is not among those that are compared"),
    ],
)
def test_what_cannot_be_compared_is_said(monkeypatch, data, arguments, said):
    monkeypatch.setattr(sys, "argv", ["training", "compare", *arguments, str(data)])
    with pytest.raises(SystemExit, match=said):
        main()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--json", "--markdown"], "name one"),
        (["--chart", "f1.txt"], "does not end in .png"),
        (["--chart", "nowhere/f1.png"], "there is no directory nowhere"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_is_measured(data, arguments, said):
    result = compared(*arguments, data)
    assert result.exit_code == 2
    assert said in result.stderr


def test_the_limits_of_time_reach_the_processes(monkeypatch, data):
    given = []

    def judge_pages(_pages, options, _processes):
        given.append((options.seconds, options.wall_seconds))
        yield from ()

    monkeypatch.setattr(commands, "judge_pages", judge_pages)
    for arguments in ([], ["--page-seconds", 0.5]):
        assert compared("--labeler", "rules", *arguments, data).exit_code == 0
    assert given == [(60, 360), (0.5, 3)]


def test_without_what_draws_one_line_says_where_it_is(monkeypatch, data):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "dehusk.training.comparison.picture", raising=False)
    arguments = ["--labeler", "rules", "--chart", str(data.with_name("f1.png")), str(data)]
    monkeypatch.setattr(sys, "argv", ["training", "compare", *arguments])
    with pytest.raises(SystemExit, match=r"matplotlib.* is not installed"):
        main()


def test_ctrl_c_says_how_far_it_came(tmp_path):
    file = tmp_path / "mills.jsonl.xz"
    file.write_bytes(lzma.compress(b"\n".join(orjson.dumps(PAGE | {"id": str(n)}) for n in range(3000))))
    command = [sys.executable, "-m", "training", "compare", "--labeler", "rules", "--rounds", "90", file]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0, text=True
    ) as process:
        assert process.stderr.readline() == "3,000 pages, 1 labeler\n"
        os.killpg(process.pid, signal.SIGINT)
        printed, said = process.communicate()
    assert process.returncode == 128 + signal.SIGINT
    assert printed == ""
    assert said.startswith("interrupted; ")
    assert said.endswith("of 3,000 pages were compared\n")
