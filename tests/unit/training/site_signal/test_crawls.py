import numpy as np

from dehusk.training.site_signal.crawls import COUNTED, crawls


def test_each_page_is_told_of_those_before_it_alone(sites):
    menu, article = 0, 2
    for visit in crawls(sites, 2):
        statistics = visit.statistics
        assert statistics.texts[menu] == statistics.pages
        assert statistics.texts[article] == 0
        assert statistics.structure_pages.tolist() == [statistics.pages] * 3
        assert statistics.structure_blocks.tolist() == [statistics.pages] * 3
        assert np.allclose(statistics.structure_likely, visit.answer[0])


def test_pages_without_gold_are_counted_and_not_looked_at(sites):
    visits = list(crawls(sites, 3))
    assert all(visit.page.gold is not None for visit in visits)
    assert {visit.statistics.pages for visit in visits} == {each for each in COUNTED if each < 8}


def test_orders_differ_and_are_the_same_again(sites):
    def order(orders, seed=0):
        return [visit.page.id for visit in crawls(sites, orders, seed=seed)]

    assert order(1) == order(1) != order(1, seed=1)
    assert len(set(order(4))) > len(set(order(1)))
