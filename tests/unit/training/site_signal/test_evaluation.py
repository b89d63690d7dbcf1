import numpy as np

from dehusk.inference.selection.site_signal import INPUTS, SignalNetwork
from dehusk.training.site_signal.crawls import crawls
from dehusk.training.site_signal.evaluation import (
    by_kind,
    by_pages,
    by_site,
    folds_of,
    labeled,
    score,
    ways,
)


def network(**weights):
    """One unit that moves a block by an input."""
    columns = np.array([[weights.get(name, 0.0)] for name in INPUTS], np.float32)
    return SignalNetwork(columns, np.zeros(1, np.float32), np.full(1, 9, np.float32), 0.0)


def kept(visit, way, of=None):
    return ways(of or network())[way](visit).tolist()


def test_what_is_kept(sites):
    for visit in crawls(sites, 1):
        assert kept(visit, "corrected") == labeled(visit).tolist() == [True, True, True]
        assert kept(visit, "corrected", network(text_share=-9)) == [False, True, True]
        assert kept(visit, "without text on 30 % of the pages") == [visit.statistics.pages < 2, True, True]
        assert kept(visit, "without repeated text that is not gold")[0] is False


def test_scores_are_shown_by_pages_kind_and_site(sites):
    crawled = [score(visit, ways(network(text_share=-9))) for visit in crawls(sites, 1)]
    pages, by_sites = by_pages(crawled).splitlines(), by_site(crawled).splitlines()
    assert pages[0].split("|")[1:4] == [" pages before ", " visits ", " as labeled "]
    assert [line.split(" | ")[0] for line in pages[2:]] == ["| 1", "| 2", "| 3", "| 5", "| 7"]
    assert len(by_sites) == 2 + len(sites)
    before, after = (float(cell) for cell in pages[2].split(" | ")[2:4])
    assert before < after
    precision, recall = zip(
        *(cell.strip(" |").split(" / ") for cell in pages[2].split(" | ")[6:]), strict=True
    )
    assert float(precision[0]) < float(precision[1])
    assert [float(each) for each in recall] == [1, 1]
    assert [line.split(" | ")[0] for line in by_kind(crawled).splitlines()[2:]] == ["| wiki", "| blog"]


def test_each_site_is_in_one_part():
    sites = [f"mill{number}.example" for number in range(20)]
    parts = folds_of(sites, 4)
    assert sorted(site for part in parts for site in part) == sorted(sites)
    assert len(parts) == 4
    assert all(folds_of(sites[:1], 4))
