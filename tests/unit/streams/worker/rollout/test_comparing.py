"""Comparison of a version on trial with the trusted one, on the pages of a batch."""

import pytest

from dehusk.schemas.pages import Prediction
from dehusk.schemas.trials import Comparison, Figures, bucket_of, bucket_of_ratio
from dehusk.streams.preparation.steps import PackedPage
from dehusk.streams.worker.rollout import comparing
from dehusk.streams.worker.rollout.comparing import Pair, compare


class Versions:
    """Version 7, which is trusted, and version 8, which is on trial."""

    def __init__(self, models) -> None:
        self.models = models
        self.pair = Pair(models["8"].opened(), models["7"].opened())

    async def compare(
        self, pages: list[PackedPage], *, labeled_by: str = "7", both: bool = True
    ) -> Comparison:
        """Compare pages that one version has labeled; with `both`, that one is asked again."""
        by = self.pair.trusted if labeled_by == "7" else self.pair.tried
        answers = await by.labeler.label([page.encoded for page in pages])
        labeled = [
            (page, each) for page, each in zip(pages, answers, strict=True) if isinstance(each, Prediction)
        ]
        asked = [each for each in (self.pair.tried, self.pair.trusted) if both or each is not by]
        return await compare(self.pair, labeled, by, asked)


@pytest.fixture
def versions(models) -> Versions:
    return Versions(models)


@pytest.mark.parametrize("labeled_by", ["7", "8"])
@pytest.mark.parametrize("both", [True, False])
async def test_versions_that_agree_differ_in_nothing(versions, page, labeled_by: str, *, both: bool) -> None:
    found = await versions.compare([page, page], labeled_by=labeled_by, both=both)
    assert (found.blocks, found.differing, found.missed, found.examples) == (2 * len(page.encoded), 0, 0, ())
    assert found.shadow.labeled == found.serving.labeled == found.pages == 2
    assert found.shadow.kept == found.serving.kept == found.kept_by_both > 0
    assert (found.f1, found.kept_ratios, found.dropped_ratios) == (1.0, {0: 2}, {0: 2})
    assert found.calls == int(both)


async def test_blocks_that_are_decided_otherwise_are_counted_with_examples(versions, page) -> None:
    versions.models["8"].probability = 0.0
    found = await versions.compare([page])
    words = int(page.encoded.words.sum())
    assert (found.differing, found.shadow.kept, found.differing_pages) == (len(page.encoded), 0, 1)
    assert (found.added, found.removed, found.words) == (0, len(page.encoded), words)
    assert (found.kept_by_both, found.added_words, found.removed_words) == (0, 0, words)
    assert (found.kept_ratios, found.f1) == ({bucket_of_ratio(0.05 / 1.05): 1}, 0.0)
    (example,) = found.examples
    assert (example.url, example.text) == (page.identity.url, "Home")
    assert (example.serving, example.shadow) == (pytest.approx(0.9), 0.0)


async def test_what_is_kept_more_is_told_from_what_is_kept_less(versions, page) -> None:
    versions.models["7"].probability = 0.0
    found = await versions.compare([page], labeled_by="8")
    assert (found.added, found.removed, found.removed_words) == (len(page.encoded), 0, 0)
    assert (found.added_words, found.shadow.kept) == (found.words, found.words)
    assert found.dropped_ratios == {bucket_of_ratio(0.05 / 1.05): 1}


@pytest.mark.parametrize(
    ("fault", "failures"),
    [("nan", (0, 1, 0)), ("away", (1, 0, 0)), ("refused", (1, 0, 0)), ("late", (0, 0, 1))],
)
async def test_a_version_that_does_not_label_what_the_trusted_one_does_is_counted(
    versions, page, fault: str, failures: tuple[int, int, int]
) -> None:
    versions.models["8"].fault = fault
    found = await versions.compare([page])
    assert (found.shadow.errors, found.shadow.rejected, found.shadow.late) == failures
    assert (found.shadow.labeled, found.serving.labeled, found.blocks) == (0, 1, 0)


@pytest.mark.parametrize("fault", ["away", "late"])
async def test_versions_that_are_away_at_once_are_not_compared(versions, page, fault: str) -> None:
    versions.models["8"].fault = fault
    versions.models["7"].once = ["", "away", "away"]
    assert await versions.compare([page]) == Comparison(missed=1)


async def test_a_version_that_was_away_for_a_moment_has_not_failed(versions, page) -> None:
    versions.models["8"].once = ["away"]
    found = await versions.compare([page])
    assert (found.shadow.errors, found.shadow.labeled, found.calls) == (0, 1, 0)


@pytest.mark.parametrize("fault", ["away", "late", "lacks"])
async def test_a_trusted_version_that_is_away_is_not_compared_with(versions, page, fault: str) -> None:
    versions.models["7"].fault = fault
    assert await versions.compare([page], labeled_by="8") == Comparison(missed=1)


async def test_pages_that_lack_what_a_version_reads_are_missed(versions, page) -> None:
    versions.models["8"].fault = "lacks"
    assert await versions.compare([page]) == Comparison(missed=1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Times that the calls of a comparison begin and end at."""
    times: list[float] = []
    monkeypatch.setattr(comparing, "perf_counter", lambda: times.pop(0))
    return times


@pytest.mark.parametrize("fault", ["", "late"])
async def test_the_times_of_both_calls_are_compared(versions, page, clock: list[float], fault: str) -> None:
    versions.models["8"].fault = fault
    clock += [0.0, 0.8, 1.0, 1.1]
    found = await versions.compare([page])
    assert found.slowdowns == {bucket_of_ratio(8.0): 1}
    assert (found.shadow.calls, found.serving.calls) == ({bucket_of(0.8): 1}, {bucket_of(0.1): 1})


async def test_the_time_of_a_call_that_failed_is_not_compared(versions, page) -> None:
    versions.models["8"].fault = "away"
    found = await versions.compare([page])
    assert (found.calls, found.shadow) == (0, Figures(pages=1, errors=1))
