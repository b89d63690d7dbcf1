import shutil

import numpy as np
import pytest

from dehusk.inference.labelers.labeler import LOCAL_LABELERS
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, models, versions
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import RawPage
from dehusk.training.comparison.labelers import (
    EXTRACTORS,
    installed_extractors,
    known_names,
    open_competitor,
    resolved_names,
    trained_on,
)
from dehusk.training.comparison.questions import ComparedPage, question_of
from dehusk.training.pages.gold import LabeledBlock
from dehusk.training.scores import score_words

STORY = "The mill stood by the river, and its wheel turned night and day for the whole village. "
HTML = f"<ul>{'<li><a href=/>Home</a>' * 5}</ul><article><p>{STORY * 4}<p>{STORY * 3}</article>".encode()
NEWEST = versions(DEFAULT_REPOSITORY, "dehusk")[-1]


def test_labelers_without_a_model_the_newest_versions_and_extractors_are_known():
    names = known_names(DEFAULT_REPOSITORY)
    assert names[: len(LOCAL_LABELERS)] == list(LOCAL_LABELERS)
    assert f"dehusk/{NEWEST}" in names
    assert {name.partition("/")[0] for name in names if "/" in name} == set(models(DEFAULT_REPOSITORY))
    extractors = installed_extractors()
    assert names[-len(extractors) :] == extractors
    assert set(extractors) <= set(EXTRACTORS)
    assert resolved_names([], DEFAULT_REPOSITORY) == names


def test_models_are_resolved_to_a_version_and_nothing_comes_twice():
    wanted = ["rules", "dehusk", f"dehusk/{NEWEST}", "trafilatura", "rules"]
    assert resolved_names(wanted, DEFAULT_REPOSITORY) == ["rules", f"dehusk/{NEWEST}", "trafilatura"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("boilernet-", r"no labeler 'boilernet-'; known are rules, .*trafilatura"),
        ("dehusk/99999", "holds no version 99999"),
    ],
)
def test_what_is_not_known_is_refused(name, said):
    with pytest.raises(ConfigurationError, match=said):
        resolved_names([name], DEFAULT_REPOSITORY)


def test_a_card_names_what_a_model_was_trained_on(tmp_path):
    names = [each.name for each in trained_on(f"dehusk/{NEWEST}", DEFAULT_REPOSITORY)]
    assert {"wcxb-dev.jsonl.xz", "sites.jsonl.xz", "cleaneval-val.jsonl.xz"} <= set(names)
    assert trained_on("rules", DEFAULT_REPOSITORY) == []
    shutil.copytree(DEFAULT_REPOSITORY / "dehusk", tmp_path / "dehusk")
    (tmp_path / "dehusk" / NEWEST / "card.md").unlink()
    assert trained_on(f"dehusk/{NEWEST}", tmp_path) == []


@pytest.mark.parametrize("name", [each for each in known_names(DEFAULT_REPOSITORY) if each not in EXTRACTORS])
def test_every_labeler_reads_what_it_needs_and_its_text_is_that_of_its_content(name):
    competitor = open_competitor(name, DEFAULT_REPOSITORY)
    question = question_of(ComparedPage("1", "a", "s", "", HTML, text=STORY * 7))
    outcome = competitor.extract(question.raw)
    units = competitor.units(question, outcome)
    texts = [*["Home"] * 5, (STORY * 4).strip(), (STORY * 3).strip()]
    assert score_words(outcome.text) == score_words(" ".join(np.array(texts)[units]))
    assert units[5:].any()


@pytest.mark.parametrize("name", ["rules", f"dehusk/{NEWEST}", "boilernet"])
def test_a_page_becomes_its_text_and_the_labels_of_its_blocks(name):
    (resolved,) = resolved_names([name], DEFAULT_REPOSITORY)
    competitor = open_competitor(resolved, DEFAULT_REPOSITORY)
    page = ComparedPage("1", "a", "s", "", HTML, text=STORY * 7)
    question = question_of(page)
    outcome = competitor.extract(RawPage("http://mill.example/", HTML))
    assert outcome.text.split("\n\n") == [(STORY * 4).strip(), (STORY * 3).strip()]
    assert competitor.units(question, outcome).tolist() == [False] * 5 + [True] * 2 == question.truth.tolist()


def test_pages_of_blocks_are_labeled_as_they_came_by_who_needs_no_elements_and_rebuilt_by_others():
    path = ("html", "body", "p")
    blocks = (LabeledBlock(path, STORY, 1), LabeledBlock((*path, "a"), "Home", 0))
    html = f"<p>{STORY} <a>Home</a>".encode()
    question = question_of(ComparedPage("1", "a", "s", "", html, blocks=blocks))
    found = {}
    for name in ("rules", "boilernet-cleaneval"):
        competitor = open_competitor(*resolved_names([name], DEFAULT_REPOSITORY), DEFAULT_REPOSITORY)
        found[name] = competitor.units(question, competitor.extract(question.raw))
    assert found["rules"].tolist() in ([True, True], [False, False])
    assert len(found["boilernet-cleaneval"]) == 2
    assert np.count_nonzero(question.places == 0) == 2
