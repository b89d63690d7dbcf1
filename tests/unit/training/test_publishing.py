from copy import deepcopy

import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.labelers.golden import parse_golden
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Encoding
from dehusk.training import versions
from dehusk.training.boilernet.config import DEFAULT_CONFIG, BoilerNetConfig
from dehusk.training.boilernet.export import build_model
from dehusk.training.boilernet.trainer import network_answer, new_run
from dehusk.training.boilernet.vocabulary import Vocabulary
from dehusk.training.versions import labeler_answer, publish
from tests.encoded import with_tokens

pytestmark = pytest.mark.training


@pytest.fixture
def run():
    return new_run(
        BoilerNetConfig.read(DEFAULT_CONFIG), Vocabulary(("html", "body", "p"), ("mill", "wheel")), seed=1
    )


def graph(run):
    return build_model(run.network, run.vocabulary)


@pytest.fixture
def pages():
    return [
        encode(segment(b"<p>the mill<p>a wheel" * count), (Encoding.TOKENS,))
        for count in (1, 5, 30, WINDOW_BLOCKS)
    ]


def test_a_published_version_answers_as_the_network_does(run, pages, tmp_path):
    difference = publish(graph(run), network_answer(run), pages, "# card", tmp_path / "boilernet" / "3")
    assert difference < 1e-5
    version = tmp_path / "boilernet" / "3"
    assert sorted(file.name for file in version.iterdir()) == ["card.md", "golden.json", "model.onnx"]
    assert (version / "card.md").read_text() == "# card"
    published = labeler_answer(OnnxLabeler("boilernet", "3", tmp_path))
    for golden in parse_golden((version / "golden.json").read_bytes()):
        assert published(golden.page)[0] == pytest.approx(golden.probabilities, abs=1e-5)
        assert network_answer(run)(golden.page) == pytest.approx(golden.probabilities, abs=1e-6)
    assert [each.name for each in tmp_path.iterdir()] == ["boilernet"]


def test_a_version_is_never_overwritten(run, pages, tmp_path):
    (tmp_path / "boilernet" / "1").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="immutable"):
        publish(graph(run), network_answer(run), pages, "", tmp_path / "boilernet" / "1")


def test_a_version_that_another_run_has_written_meanwhile_stays(run, pages, tmp_path, monkeypatch):
    directory = tmp_path / "boilernet" / "1"

    def write_another(*_):
        directory.mkdir()
        (directory / "card.md").write_text("another")
        return 0.0

    monkeypatch.setattr(versions, "_difference", write_another)
    with pytest.raises(ConfigurationError, match="exists, and versions are immutable"):
        publish(graph(run), network_answer(run), pages, "", directory)
    assert [path.read_text() for path in directory.iterdir()] == ["another"]


def test_a_model_that_answers_otherwise_is_not_published(run, pages, tmp_path):
    other = deepcopy(run.network)
    other.output.bias.data += 0.01
    altered = build_model(other, run.vocabulary)
    with pytest.raises(ConfigurationError, match="differs from the trained one"):
        publish(altered, network_answer(run), pages, "", tmp_path / "boilernet" / "1")
    assert not list((tmp_path / "boilernet").iterdir())


def test_a_model_that_rejects_a_page_is_not_published_however_small_the_page_is(run, pages, tmp_path):
    sound, *others = pages
    rejected = with_tokens(sound, block_lengths=sound.tokens.block_lengths + 1)
    predict = network_answer(run)

    def answers(page):
        return predict(sound if page is rejected else page)

    with pytest.raises(ConfigurationError, match="differs from the trained one by inf"):
        publish(graph(run), answers, [rejected, *others], "", tmp_path / "boilernet" / "1")


def test_without_any_page_a_model_is_checked_on_the_golden_ones(run, tmp_path):
    assert publish(graph(run), network_answer(run), [], "# card", tmp_path / "boilernet" / "1") < 1e-5
    other = deepcopy(run.network)
    other.output.bias.data += 0.01
    altered = build_model(other, run.vocabulary)
    with pytest.raises(ConfigurationError, match="differs from the trained one"):
        publish(altered, network_answer(run), [], "# card", tmp_path / "boilernet" / "2")
