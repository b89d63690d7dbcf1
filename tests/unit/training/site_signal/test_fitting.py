from dataclasses import replace

import numpy as np
import pytest

from dehusk.inference.selection.site_signal import INPUTS, inputs
from dehusk.schemas.errors import ConfigurationError
from dehusk.training.site_signal.crawls import crawls
from dehusk.training.site_signal.evaluation import labeled, score, ways
from dehusk.training.site_signal.fitting import SignalSettings, fit

pytestmark = pytest.mark.training
SETTINGS = SignalSettings(orders=4, networks=2, hidden=4, epochs=60, batch_blocks=64, learning_rate=0.05)


@pytest.fixture(scope="module")
def network(sites):
    learned = dict(list(sites.items())[1:])
    return fit(crawls(learned, SETTINGS.orders), SETTINGS)


def test_what_a_site_repeats_is_dropped_on_a_site_that_was_not_learned_from(network, sites):
    name, pages = next(iter(sites.items()))
    for visit in crawls({name: pages}, 2):
        assert labeled(visit)[0]
        assert not ways(network)["corrected"](visit)[0]
        assert ways(network)["corrected"](visit)[2]


def test_repetition_and_unlikely_structures_only_ever_lower(network):
    assert network.weights.shape == (len(INPUTS), SETTINGS.networks * SETTINGS.hidden)
    assert (network.outputs >= 0).all()
    assert (network.weights[INPUTS.index("text_share")] <= 0).all()
    assert (network.weights[INPUTS.index("structure_logit")] >= 0).all()


def test_the_network_reads_inputs_as_they_are(network, sites):
    visit = next(crawls(sites, 1))
    added = network(inputs(visit.answer[0], visit.statistics))
    assert added.shape == (3,)
    assert np.abs(added).max() > 0.1


def test_a_fit_is_the_same_again_and_another_with_another_seed(sites):
    few = replace(SETTINGS, epochs=2)
    one, again, other = (fit(crawls(sites, 1), each).written() for each in (few, few, replace(few, seed=2)))
    assert one == again != other


def test_pages_are_scored_higher(network, sites):
    scores = [score(visit, ways(network)).scores for visit in crawls(sites, 1)]
    before, after = (np.mean([each[way].f1 for each in scores]) for way in ("as labeled", "corrected"))
    assert after > before + 0.05


def test_crawls_without_a_page_to_learn_from_are_refused(sites):
    unknown = {site: [replace(page, gold=None) for page in pages] for site, pages in sites.items()}
    with pytest.raises(ConfigurationError, match=r"no page with a gold text .*: add sites"):
        fit(crawls(unknown, 1), SETTINGS)
