import sys

import pytest

from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.labelers.golden import parse_golden
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, versions
from dehusk.training.__main__ import main
from dehusk.training.fine_tuning.commands import NOT_BETTER
from dehusk.training.versions import labeler_answer

from .conftest import harbour_html, labels_of, mill_html

pytestmark = pytest.mark.training

BASE = f"dehusk/{versions(DEFAULT_REPOSITORY, 'dehusk')[-1]}"


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs the command on a crawl; its exit status or error."""

    def run(crawl, *more, base=BASE, version=99):
        arguments = ["--labels", crawl.labels, "--from", base, "--version", version]
        arguments += ["--directory", tmp_path / "run", *more, crawl.pages]
        monkeypatch.setattr(sys, "argv", ["training", "fine-tune", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    return run


def test_a_version_is_written_that_answers_better(run, mill, tmp_path, capsys):
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "a.html").write_text(harbour_html(1))
    saved = mill.labels.read_bytes()
    assert run(mill, "--others", tmp_path / "others") == 0
    shown = capsys.readouterr()
    assert "12 labeled pages, in cross-validation: F1 0." in shown.out
    assert "1 page of other sites: 0.00% of" in shown.out
    assert f"dehusk model verify {tmp_path}/run/dehusk/99" in shown.out
    steps = [
        "cross-validation, part 5 of 5",
        "comparison on 4 pages without labels",
        "check of the exported version on 16 pages",
    ]
    assert [line for line in shown.err.splitlines() if line in steps] == steps
    version = tmp_path / "run" / "dehusk" / "99"
    assert sorted(file.name for file in version.iterdir()) == ["card.md", "golden.json", "model.onnx"]
    assert mill.labels.read_bytes() == saved
    answer = labeler_answer(OnnxLabeler("dehusk", "99", tmp_path / "run"))
    for golden in parse_golden((version / "golden.json").read_bytes()):
        assert answer(golden.page)[0] == pytest.approx(golden.probabilities, abs=1e-5)


def test_sites_of_a_single_labeled_page_are_counted(run, mill, tmp_path, capsys):
    html = mill_html(30)
    (tmp_path / "lone").mkdir()
    (tmp_path / "lone" / "a.html").write_text(html)
    mill.label("https://lone.example/a.html", html, labels_of(html))
    assert run(mill, "--base-url", "https://lone.example", tmp_path / "lone") == 0
    assert "1 of 2 sites have one labeled page alone" in capsys.readouterr().err


def test_a_page_with_wrong_labels_is_named_in_the_output_and_the_card(run, mill, tmp_path, capsys):
    html = mill_html(6)
    mill.label("m6", html, [1 - label for label in labels_of(html)])
    assert run(mill) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("loses most: m6, F1 ")
    assert lines[2].startswith("lowest after: m6, F1 ")
    card = (tmp_path / "run" / "dehusk" / "99" / "card.md").read_text()
    assert f"wrong label:\n\n- {lines[1]}\n- {lines[2]}\n" in card


def test_the_card_says_what_it_was_made_of(run, mill, tmp_path):
    assert run(mill) == 0
    card = (tmp_path / "run" / "dehusk" / "99" / "card.md").read_text()
    assert card.startswith(f"# dehusk, version 99\n\n`{BASE}`, fine-tuned on labeled pages")
    assert "- 12 pages, labeled by hand, of 1 site: mill.example" in card
    assert "on pages of the crawl that have no labels: " in card
    assert "on other pages: none were given" in card
    assert f"## dehusk, version {BASE.partition('/')[2]}" in card


def learned_already(crawl, base_labels):
    for number in range(12):
        html = harbour_html(number)
        crawl.add(str(number), html, base_labels)
    return crawl


def test_what_brings_nothing_is_not_written_unless_it_is_forced(run, crawl, tmp_path, capsys):
    learned_already(crawl, [1, 1, 1, 1, 0])
    assert run(crawl) == NOT_BETTER
    said = capsys.readouterr().err
    assert "is not better on your pages" in said
    assert "Label more pages, above all such as are cleaned worst, or mend labels that contradict" in said
    assert not (tmp_path / "run").exists()
    assert run(crawl, "--force") == 0
    assert (tmp_path / "run" / "dehusk" / "99" / "model.onnx").exists()


def test_a_version_is_never_overwritten(run, mill, tmp_path):
    there = DEFAULT_REPOSITORY / BASE
    assert (
        run(mill, version=there.name)
        == f"Error: {there} exists, and versions are immutable; name the next version"
    )
    assert run(mill) == 0
    written = (tmp_path / "run" / "dehusk" / "99" / "model.onnx").read_bytes()
    assert (
        run(mill)
        == f"Error: {tmp_path}/run/dehusk/99 exists, and versions are immutable; name the next version"
    )
    assert (tmp_path / "run" / "dehusk" / "99" / "model.onnx").read_bytes() == written


def test_a_model_of_another_signature_is_named(run, mill, tmp_path):
    error = run(mill, base="boilernet/2")
    assert error.startswith("Error: boilernet/2 reads 'tokens")
    assert not (tmp_path / "run").exists()


def test_without_a_version_the_newest_is_made_better(run, mill, tmp_path):
    assert run(mill, base="dehusk") == 0
    assert f"`{BASE}`, fine-tuned" in (tmp_path / "run" / "dehusk" / "99" / "card.md").read_text()


def test_a_version_that_is_not_there_is_named(run, mill):
    assert "holds no version 98 of model 'dehusk'" in run(mill, base="dehusk/98")


def test_labels_that_do_not_fit_end_with_their_names_and_leave_everything_as_it_was(run, mill, tmp_path):
    mill.label("gone", mill_html(1), labels_of(mill_html(1)))
    saved = mill.labels.read_bytes()
    assert "unknown-page (1:" in run(mill)
    assert mill.labels.read_bytes() == saved
    assert not (tmp_path / "run").exists()


def test_pages_that_are_all_too_long_to_check_a_version_by_are_refused(run, crawl, tmp_path):
    for number in range(10):
        html = mill_html(number) + "<p>More" * WINDOW_BLOCKS
        crawl.add(str(number), html, labels_of(html))
    error = run(crawl)
    assert error.startswith(f"Error: all pages in {crawl.labels} have more than 2,048 blocks")
    assert not (tmp_path / "run").exists()
