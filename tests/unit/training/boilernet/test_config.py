import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.boilernet.config import DEFAULT_CONFIG, BoilerNetConfig


def test_the_default_is_the_published_network():
    network = BoilerNetConfig.read(DEFAULT_CONFIG).network
    assert (network.tags, network.words, network.dense, network.hidden, network.layers) == (
        50,
        1000,
        256,
        256,
        2,
    )
    assert network.dropout == 0.5


@pytest.mark.parametrize("name", ["boilernet-cleaneval.toml", "boilernet-googletrends.toml"])
def test_the_published_results_are_of_the_published_network_trained_as_published(name):
    config, default = (
        BoilerNetConfig.read(DEFAULT_CONFIG.with_name(name)),
        BoilerNetConfig.read(DEFAULT_CONFIG),
    )
    assert config.data is None
    assert config.network == default.network
    assert (config.trainer.epochs, config.trainer.batch_pages, config.trainer.best_epoch) == (50, 16, True)
    assert config.trainer.seeds == (1, 2, 3, 4, 5)
    assert (config.network.punctuation, config.network.separate_unknown) == (True, True)
    assert (config.network.first_weights, config.trainer.class_weights) == ("keras", True)
    assert config.trainer.adam_epsilon == 1e-7


def test_other_first_weights_than_those_of_the_two_frameworks_are_named(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(DEFAULT_CONFIG.read_text().replace('"keras"', '"theano"'))
    with pytest.raises(ConfigurationError, match="keras or torch"):
        BoilerNetConfig.read(file)


@pytest.mark.parametrize(
    "change", [("epochs = 10\n", ""), ("epochs = 10\n", "epochs = 10\nsead = 2\n"), ("[data]", "[data")]
)
def test_a_setting_too_few_or_too_many_is_named(tmp_path, change):
    file = tmp_path / "run.toml"
    file.write_text(DEFAULT_CONFIG.read_text().replace(*change))
    with pytest.raises(ConfigurationError, match="is no training configuration"):
        BoilerNetConfig.read(file)
