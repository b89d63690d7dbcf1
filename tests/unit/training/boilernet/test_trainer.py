from dataclasses import replace

import pytest
import torch

from dehusk.inference.encoding import encode
from dehusk.schemas.errors import ConfigurationError
from dehusk.training.boilernet import trainer
from dehusk.training.boilernet.block_scores import mean_f1, score_blocks
from dehusk.training.boilernet.checkpoint import load, load_trained
from dehusk.training.boilernet.config import DEFAULT_CONFIG, read_config
from dehusk.training.boilernet.examples import class_weights, example
from dehusk.training.boilernet.model import network_predict
from dehusk.training.boilernet.pages import held_out_pages, label, training_pages
from dehusk.training.boilernet.trainer import SCORED_EPOCHS, scored_epochs, train_boilernet
from dehusk.training.boilernet.vocabulary import Vocabulary
from dehusk.training.pages import GoldPage

pytestmark = pytest.mark.training


@pytest.fixture(scope="module")
def config():
    default = read_config(DEFAULT_CONFIG)
    return replace(
        default,
        network=replace(default.network, tags=10, words=50, dense=16, hidden=8, dropout=0.1),
        trainer=replace(
            default.trainer, epochs=6, batch_pages=4, learning_rate=0.03, warmup_steps=5, threads=1
        ),
    )


@pytest.fixture(scope="module")
def pages():
    html = "<nav>home news sport</nav>{}<footer>all rights reserved</footer>"
    texts = [f"<p>the mill turned {number} times</p>" * (number % 4 + 1) for number in range(80)]
    return [
        label(
            GoldPage(
                str(i),
                f"site{i}.example",
                "article",
                html.format(text),
                text.replace("<p>", " ").replace("</p>", " "),
            ),
            2 / 3,
        )
        for i, text in enumerate(texts)
    ]


def weights(run):
    return {name: value.clone() for name, value in run.network.state_dict().items()}


def test_a_network_learns_what_tells_content_from_boilerplate(config, pages, tmp_path, device):
    run = train_boilernet(pages, config, 1, tmp_path / "checkpoint.pt")
    assert {each.device.type for each in run.network.parameters()} == {device}
    scores = score_blocks(held_out_pages(pages, config.data), network_predict(run))
    assert min(score.f1 for score in scores) > 0.99
    assert run.epochs == 6


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(config, pages, tmp_path):
    short = replace(config, trainer=replace(config.trainer, epochs=1))
    first, second, third = (
        weights(train_boilernet(pages, short, seed, tmp_path / f"{number}.pt"))
        for number, seed in enumerate((1, 1, 2))
    )
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["output.weight"], third["output.weight"])


def test_an_interrupted_run_goes_on_to_the_same_weights(config, pages, tmp_path, monkeypatch):
    whole = weights(train_boilernet(pages, config, 1, tmp_path / "whole.pt"))
    epoch = trainer._epoch

    def interrupted(run, number, *rest):
        if number == 3:
            raise KeyboardInterrupt
        return epoch(run, number, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "_epoch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_boilernet(pages, config, 1, tmp_path / "resumed.pt")
    assert load(tmp_path / "resumed.pt", config).epochs == 3
    resumed = weights(train_boilernet(pages, config, 1, tmp_path / "resumed.pt"))
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


@pytest.mark.parametrize("scores", [(0.5, 0.7, 0.6), (0.7, 0.7, 0.7), (0.1, 0.2, 0.3)])
def test_the_epoch_that_scores_best_is_kept_the_first_of_equals(config, pages, tmp_path, monkeypatch, scores):
    choosing = replace(config, trainer=replace(config.trainer, epochs=3, best_epoch=True))
    given, seen = iter(scores), []

    def score(held_out, predict):
        seen.append(predict)
        return next(given)

    monkeypatch.setattr(trainer, "score_blocks", score)
    monkeypatch.setattr(trainer, "mean_f1", lambda score: score)
    monkeypatch.setattr(trainer, "network_predict", weights)
    run = train_boilernet(pages, choosing, 1, tmp_path / "checkpoint.pt")
    assert len(seen) == 3
    best = scores.index(max(scores))
    assert (run.best.epochs, run.best.score) == (best + 1, max(scores))
    kept = weights(load_trained(tmp_path / "checkpoint.pt", choosing))
    assert all(torch.equal(seen[best][name], kept[name]) for name in kept)


def test_no_epoch_is_chosen_without_held_out_pages(config, pages, tmp_path):
    settings = replace(config.trainer, best_epoch=True)
    alone = replace(config, data=replace(config.data, held_out=0.0), trainer=settings)
    with pytest.raises(ConfigurationError, match="validation"):
        train_boilernet(pages, alone, 1, tmp_path / "checkpoint.pt")
    assert not (tmp_path / "checkpoint.pt").exists()


def test_epochs_are_compared_by_the_held_out_blocks_also_when_resumed(config, pages, tmp_path):
    choosing = replace(config, trainer=replace(config.trainer, epochs=2, best_epoch=True))
    run = train_boilernet(pages, choosing, 1, tmp_path / "checkpoint.pt")
    scores = score_blocks(
        held_out_pages(pages, config.data),
        network_predict(load_trained(tmp_path / "checkpoint.pt", choosing)),
    )
    assert run.best.score == pytest.approx(mean_f1(scores))
    assert train_boilernet(pages, choosing, 1, tmp_path / "checkpoint.pt").best.score == run.best.score


def test_a_batch_counts_as_a_whole_however_it_is_parted(config, pages, tmp_path, monkeypatch):
    short = replace(config, trainer=replace(config.trainer, epochs=1, by_length=False))
    short = replace(short, network=replace(short.network, dropout=0.0))
    parted = weights(train_boilernet(pages, short, 1, tmp_path / "parted.pt"))
    monkeypatch.setattr(trainer, "parts", lambda batch: [batch])
    whole = weights(train_boilernet(pages, short, 1, tmp_path / "whole.pt"))
    assert all(torch.allclose(whole[name], parted[name], atol=1e-4) for name in whole)
    monkeypatch.setattr(trainer, "parts", lambda batch: [batch[:1]])
    less = weights(train_boilernet(pages, short, 1, tmp_path / "less.pt"))
    assert not torch.allclose(whole["output.weight"], less["output.weight"], atol=1e-4)


def test_the_classes_can_weigh_as_their_blocks_do(config, pages, tmp_path, monkeypatch):
    seen = []

    def loss(logits, content, weights):
        seen.append(weights)
        return logits.sum() * 0

    monkeypatch.setattr(trainer, "_loss", loss)
    for weighted in (True, False):
        settings = replace(config.trainer, epochs=1, class_weights=weighted)
        train_boilernet(pages, replace(config, trainer=settings), 1, tmp_path / f"{weighted}.pt")
    given = class_weights(
        [example(page, Vocabulary(("p",), ())) for page in training_pages(pages, config.data)]
    )
    assert given[0] != given[1]
    assert set(seen) == {given, (1.0, 1.0)}


def test_the_last_epochs_are_answered_by_the_network_that_training_makes(config, pages, tmp_path):
    learned, held_out = training_pages(pages, config.data), held_out_pages(pages, config.data)
    answers = list(scored_epochs(learned, held_out, config, 1))
    run = train_boilernet(pages, config, 1, tmp_path / "checkpoint.pt")
    last = [network_predict(run)(encode(page.segmented)) for page in held_out]
    assert len(answers) == SCORED_EPOCHS
    assert all((ours == theirs).all() for ours, theirs in zip(answers[-1], last, strict=True))
    assert any((ours != theirs).any() for ours, theirs in zip(answers[0], last, strict=True))


@pytest.mark.parametrize(("decay", "last"), [(True, 0.25), (False, 1.0)])
def test_the_learning_rate_falls_or_stays(config, pages, tmp_path, decay, last):
    settings = replace(
        config.trainer, epochs=1, learning_rate=1.0, warmup_steps=2, batch_pages=15, decay=decay
    )
    run = train_boilernet(pages[:70], replace(config, trainer=settings), 1, tmp_path / "checkpoint.pt")
    batches = -(-len(training_pages(pages[:70], config.data)) // 15)
    assert batches == 4
    assert [group["lr"] for group in run.optimizer.param_groups] == [last]


def test_a_checkpoint_of_another_configuration_is_not_gone_on_with(config, pages, tmp_path):
    short = replace(config, trainer=replace(config.trainer, epochs=1))
    train_boilernet(pages, short, 1, tmp_path / "checkpoint.pt")
    with pytest.raises(ConfigurationError, match="another configuration"):
        train_boilernet(pages, config, 1, tmp_path / "checkpoint.pt")
