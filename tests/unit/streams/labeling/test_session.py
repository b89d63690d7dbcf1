"""Sessions: what is shown of pages, and what of their labels is saved."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConflictError, ExtractionError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import EncodedPage, ModelVersion, Prediction, RawPage
from dehusk.streams.labeling import session as module
from dehusk.streams.labeling.labels_file import open_labels_file, read_labels_file
from dehusk.streams.labeling.session import (
    RefusedPageError,
    Session,
    StaleLabelsError,
    centre,
    initial_probabilities,
    updated_probabilities,
)
from dehusk.streams.labeling.store import open_store

PROSE = "The mill grinds slowly, but it grinds fine, day and night, in summer as in winter."
PAGE = RawPage(
    "https://example.org/a", f"<title>T</title><p>{PROSE}<p>{PROSE} Or so.<footer>End".encode(), "a"
)
MANY = RawPage("https://example.org/b", b"<p>x" * 101)


async def shown(session: Session, number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await session.page(number))
    return found


def states(session: Session) -> list[str]:
    return [page["state"] for page in session.overview["pages"]]


async def test_a_page_is_shown_with_what_is_suggested(labeling) -> None:
    async with labeling([PAGE]) as session:
        page = await shown(session)
    assert (page["id"], page["url"], page["title"]) == ("a", "https://example.org/a", "T")
    assert [block["text"] for block in page["blocks"]] == [PROSE, f"{PROSE} Or so.", "End"]
    assert page["original"].count("dehusk-block-") == 3
    assert [each >= 0.5 for each in page["suggestions"]][:2] == [True, True]
    assert (page["labels"], page["misfit"], page["trouble"]) == ([None] * 3, None, None)


async def test_labels_are_saved_and_shown_again(labeling, labels_path: Path) -> None:
    async with labeling([PAGE]) as session:
        half = await session.save(0, [1, None, None], "", replaces=False)
        assert (half["state"], states(session)) == ("half", ["half"])
        whole = await session.save(0, [1, 1, 0], half["revision"], replaces=False)
        assert (whole["state"], states(session)) == ("labeled", ["labeled"])
    assert read_labels_file(labels_path)["a"].labels == (1, 1, 0)
    async with labeling([PAGE]) as session:
        page = await shown(session)
        assert (page["labels"], page["revision"], page["state"]) == ([1, 1, 0], whole["revision"], "labeled")


async def test_progress_says_how_far_pages_are_labeled(labeling) -> None:
    pages = [replace(PAGE, id=name) for name in "abcd"]
    broken = Broken(BrokenReason.PAGE_TOO_LARGE, "2 bytes", "https://example.org/c")
    async with labeling(pages) as session:
        assert session.progress == "0 of 4 pages labeled"
        await session.save(0, [1, 1, 0], "", replaces=False)
        await session.save(1, [1, 1, None], "", replaces=False)
        await session.save(2, [1, 1, 0], "", replaces=False)
    changed = replace(pages[2], html=PAGE.html + b"<p>More")
    async with labeling([*pages[:2], changed, broken, pages[3]]) as session:
        assert session.progress == (
            "1 of 5 pages labeled, 1 half-labeled, 1 with labels that do not fit, 1 cannot be"
        )


async def test_pages_are_listed_with_their_titles(labeling) -> None:
    async with labeling([PAGE, MANY]) as session:
        assert [page["title"] for page in session.overview["pages"]] == ["T", None]


async def test_labels_can_be_taken_back(labeling) -> None:
    async with labeling([PAGE]) as session:
        saved = await session.save(0, [1, None, None], "", replaces=False)
        saved = await session.save(0, [None] * 3, saved["revision"], replaces=False)
        assert (saved["state"], saved["revision"]) == ("todo", "")


@pytest.mark.parametrize("labels", [[], [1, 0], [1, 0, None, None]])
async def test_what_are_no_labels_of_a_page_is_refused(
    labeling, labels_path: Path, labels: list[Any]
) -> None:
    async with labeling([PAGE]) as session:
        with pytest.raises(ValueError, match="label"):
            await session.save(0, labels, "", replaces=False)
        with pytest.raises(ValueError, match="label"):
            await session.suggest(0, labels)
    assert read_labels_file(labels_path) == {}


async def test_labels_of_another_window_are_not_overwritten(labeling, labels_path: Path) -> None:
    async with labeling([PAGE]) as session:
        await session.save(0, [1, None, None], "", replaces=False)
        with pytest.raises(StaleLabelsError, match="in another window"):
            await session.save(0, [0, None, None], "", replaces=True)
    assert read_labels_file(labels_path)["a"].labels == (1, None, None)


@pytest.mark.parametrize("change", ["html", "blocks"])
async def test_labels_of_another_page_or_of_other_blocks_give_way_when_asked_alone(
    labeling, labels_path: Path, change: str
) -> None:
    async with labeling([PAGE]) as session:
        await session.save(0, [1, 1, 0], "", replaces=False)
    was = read_labels_file(labels_path)["a"]
    if change == "blocks":
        with open_labels_file(labels_path) as file:
            file.save(replace(was, blocks_hash="0" * 32, labels=(1, 1)))
    page = PAGE if change == "blocks" else replace(PAGE, html=PAGE.html + b"<p>More")
    async with labeling([page]) as session:
        assert not await session.fits(0)
        found = await shown(session)
        blocks = len(found["blocks"])
        assert (found["state"], found["labels"]) == ("misfit", [None] * blocks)
        assert found["misfit"]["why"] == ("other-blocks" if change == "blocks" else "changed-page")
        assert found["misfit"]["labeled"] == len(read_labels_file(labels_path)["a"].labels)
        assert found["carried"] == ([1, 1, None] if change == "blocks" else [1, 1, 0, None])
        with pytest.raises(StaleLabelsError, match="not overwritten unasked"):
            await session.save(0, [1] * blocks, found["revision"], replaces=False)
        saved = await session.save(0, [1] * blocks, found["revision"], replaces=True)
        assert (saved["state"], states(session)) == ("labeled", ["labeled"])
        assert await session.fits(0)
        again = await shown(session)
        assert (again["misfit"], again["labels"]) == (None, [1] * blocks)


async def test_labels_help_the_next_page_of_the_site(labeling) -> None:
    next_page = replace(PAGE, url="https://example.org/next", id="b")
    elsewhere = replace(PAGE, url="https://example.com/a", id="c")
    async with labeling([PAGE, next_page, elsewhere]) as session:
        before = await shown(session, 1)
        assert before["suggestions"][0] >= 0.5
        await session.save(0, [0, 1, None], "", replaces=False)
        after, others = await shown(session, 1), await shown(session, 2)
        assert after["suggestions"][0] <= 0.05
        assert after["suggestions"][1] >= 0.95
        assert after["suggestions"][2] == before["suggestions"][2]
        assert others["suggestions"] == before["suggestions"]
        updated = await session.suggest(1, [None, None, 0])
        assert updated is not None
        assert updated[0] <= 0.05
        await session.save(2, [1, 1, 1], "", replaces=False)
        await session.save(1, [1, 1, 1], "", replaces=False)
        assert (await shown(session, 0))["suggestions"][0] >= 0.95


async def test_labels_of_other_pages_are_kept_and_told(labeling, labels_path: Path) -> None:
    async with labeling([replace(PAGE, id="elsewhere")]) as session:
        await session.save(0, [1, 1, 0], "", replaces=False)
    async with labeling([PAGE]) as session:
        assert session.overview["others"] == 1
        await session.save(0, [0, 0, 0], "", replaces=False)
    assert set(read_labels_file(labels_path)) == {"elsewhere", "a"}


async def test_a_torn_line_is_told(labeling, torn: Path) -> None:
    async with labeling([PAGE]) as session:
        assert session.overview["set_aside"] == f"{torn}.torn"


async def test_a_page_that_cannot_be_labeled_says_why_and_the_others_can(labeling) -> None:
    broken = Broken(BrokenReason.PAGE_TOO_LARGE, "2 bytes", "https://example.org/c")
    async with labeling([MANY, broken, PAGE]) as session:
        assert states(session) == ["todo", "refused", "todo"]
        many = await shown(session, 0)
        assert many["state"] == "refused"
        assert many["refusal"].startswith("too-many-blocks: ")
        assert (await shown(session, 1))["refusal"] == "page-too-large: 2 bytes"
        assert states(session) == ["refused", "refused", "todo"]
        with pytest.raises(RefusedPageError, match="too-many-blocks"):
            await session.save(0, [1], "", replaces=False)
        assert (await session.save(2, [1, 1, 0], "", replaces=False))["state"] == "labeled"


class Away:
    """A labeler that is away at first."""

    def __init__(self) -> None:
        self.is_away = True
        self._labeler = RulesLabeler()

    async def label(self, pages):
        if self.is_away:
            raise UnavailableError("Triton does not answer")
        return await self._labeler.label(pages)


async def test_what_was_away_when_a_page_was_opened_is_asked_again(labels_path: Path, pool) -> None:
    labeler = Away()
    with open_store([PAGE]) as store, open_labels_file(labels_path) as file:
        session = Session(store, file, pool, labeler)
        assert (await shown(session))["trouble"] == "Triton does not answer"
        labeler.is_away = False
        page = await shown(session)
    assert (page["trouble"], page["suggestions"] is None) == (None, False)


async def test_a_refusal_that_has_passed_is_forgotten(labeling, monkeypatch: pytest.MonkeyPatch) -> None:
    open_page = module.open_page

    async def late(*_given: object) -> None:
        raise ExtractionError(BrokenReason.TIME_BUDGET_EXCEEDED, "late")

    async with labeling([PAGE]) as session:
        monkeypatch.setattr(module, "open_page", late)
        assert (await shown(session))["refusal"].startswith("time-budget-exceeded")
        assert states(session) == ["refused"]
        monkeypatch.setattr(module, "open_page", open_page)
        assert "refusal" not in await shown(session)
        assert states(session) == ["todo"]


async def test_more_pages_than_stay_open_are_shown_and_saved(labeling) -> None:
    pages = [replace(PAGE, id=str(number)) for number in range(9)]
    async with labeling(pages) as session:
        for number in (*range(9), 0):
            assert (await shown(session, number))["id"] == str(number)
        assert (await session.save(0, [1, 1, 0], "", replaces=False))["state"] == "labeled"


async def test_a_label_changes_what_is_suggested(labeling) -> None:
    async with labeling([PAGE]) as session:
        before = (await shown(session))["suggestions"]
        after = await session.suggest(0, [0, None, None])
        assert after[1] < before[1]


async def test_what_cannot_be_written_is_raised(labeling, lose_labels) -> None:
    async with labeling([PAGE]) as session:
        lose_labels()
        with pytest.raises(ConflictError, match="is gone"):
            await session.save(0, [1, 1, 0], "", replaces=False)
        assert states(session) == ["todo"]


CARDS = "".join(f"<li class=card><a href=/{number}>Card {number}</a></li>" for number in range(8))
ARTICLE = "<p>The mill grinds slowly, but it grinds fine, day and night, in summer as in winter.</p>" * 2
ENCODED = encode(segment(f"<ul>{CARDS}</ul><article>{ARTICLE}</article><footer>Imprint</footer>".encode()))


def prediction(probabilities: list[float]) -> Prediction:
    return Prediction(np.array(probabilities, np.float32), ModelVersion("m", "1"), "onnx")


def test_what_the_model_chooses_is_suggested_whatever_its_probability() -> None:
    page = encode(segment(b"<p>one two three four five six<p>seven eight nine ten<p>eleven"))
    suggested = centre(page, prediction([0.4, 0.35, 0.01]))
    assert (suggested >= 0.5).tolist() == [True, True, False]
    assert suggested[0] > suggested[1]
    assert centre(page, prediction([0.99, 0.98, 0.97])).min() >= 0.5


async def test_a_labeler_suggests_before_anything_is_labeled() -> None:
    initial = await initial_probabilities(RulesLabeler(), ENCODED)
    assert initial.shape == (len(ENCODED),)
    nothing = await updated_probabilities(ENCODED, initial, [None] * len(ENCODED))
    assert nothing is initial


async def test_a_label_spreads_to_blocks_that_are_alike() -> None:
    initial = await initial_probabilities(RulesLabeler(), ENCODED)
    assert (initial[:8] < 0.5).all()
    suggested = await updated_probabilities(ENCODED, initial, [1, *[None] * (len(ENCODED) - 2), 0])
    assert (suggested[1:8] > initial[1:8]).all()
    assert (suggested[[0, 1, -1]] > 0.5).tolist() == [True, True, False]


async def test_labels_spread_where_nothing_was_suggested() -> None:
    suggested = await updated_probabilities(ENCODED, None, [1, *[None] * (len(ENCODED) - 2), 0])
    assert suggested[1] > 0.5 > suggested[-1]


async def test_a_page_without_blocks_has_no_suggestions() -> None:
    page = encode(segment(b""))
    initial = await initial_probabilities(RulesLabeler(), page)
    suggested = await updated_probabilities(page, initial, [])
    assert len(suggested) == 0


async def test_a_labeler_that_says_nothing_that_fits_is_named() -> None:
    class Wrong:
        async def label(self, pages: list[EncodedPage]) -> list[Any]:
            return [Broken(BrokenReason.REJECTED_BY_MODEL, "NaN")]

        async def close(self) -> None: ...

    with pytest.raises(ExtractionError, match="rejected-by-model: NaN"):
        await initial_probabilities(Wrong(), ENCODED)
