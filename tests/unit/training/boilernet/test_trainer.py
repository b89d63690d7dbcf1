from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import torch

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Encoding
from dehusk.training.boilernet import trainer
from dehusk.training.boilernet.config import DEFAULT_CONFIG, BoilerNetConfig
from dehusk.training.boilernet.evaluation import score_blocks
from dehusk.training.boilernet.labeled_pages import held_out_pages, label, training_pages
from dehusk.training.boilernet.network import Blocks
from dehusk.training.boilernet.trainer import (
    Best,
    Example,
    class_weights,
    example,
    load,
    load_trained,
    network_answer,
    new_run,
    origin_of,
    parts,
    save,
    train_boilernet,
)
from dehusk.training.boilernet.vocabulary import Vocabulary, most_frequent
from dehusk.training.learning import Origin
from dehusk.training.pages.gold import GoldPage
from dehusk.training.scores import mean_f1

pytestmark = pytest.mark.training

ORIGIN = Origin({}, 1)


@pytest.fixture(scope="module")
def config():
    default = BoilerNetConfig.read(DEFAULT_CONFIG)
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
    scores = score_blocks(held_out_pages(pages, config.data), network_answer(run))
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
    batches_per_epoch = -(-len(training_pages(pages, config.data)) // config.trainer.batch_pages)
    begun = count(1)

    def interrupted(batch):
        if next(begun) == 3 * batches_per_epoch + 2:
            raise KeyboardInterrupt
        return parts(batch)

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "parts", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_boilernet(pages, config, 1, tmp_path / "resumed.pt")
    assert load(tmp_path / "resumed.pt", config, origin_of(config, pages)).epochs == 3
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
    monkeypatch.setattr(trainer, "network_answer", weights)
    run = train_boilernet(pages, choosing, 1, tmp_path / "checkpoint.pt")
    assert len(seen) == 3
    best = scores.index(max(scores))
    assert (run.best.epochs, run.best.score) == (best + 1, max(scores))
    kept = weights(load_trained(tmp_path / "checkpoint.pt", choosing, origin_of(choosing, pages)))
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
        network_answer(load_trained(tmp_path / "checkpoint.pt", choosing, origin_of(choosing, pages))),
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
    unweighted = replace(config, trainer=replace(config.trainer, epochs=1, class_weights=False))
    weighted = replace(config, trainer=replace(config.trainer, epochs=1, class_weights=True))
    expected = weights(train_boilernet(pages, unweighted, 1, tmp_path / "unweighted.pt"))
    other = weights(train_boilernet(pages, weighted, 1, tmp_path / "weighted.pt"))
    assert not torch.equal(expected["output.weight"], other["output.weight"])
    monkeypatch.setattr(trainer, "class_weights", lambda examples: (1.0, 1.0))
    same = weights(train_boilernet(pages, weighted, 1, tmp_path / "same.pt"))
    assert all(torch.equal(expected[name], same[name]) for name in expected)


@pytest.mark.parametrize(("decay", "last"), [(True, 0.25), (False, 1.0)])
def test_the_learning_rate_falls_or_stays(config, pages, tmp_path, decay, last):
    settings = replace(
        config.trainer, epochs=1, learning_rate=1.0, warmup_steps=2, batch_pages=15, decay=decay
    )
    run = train_boilernet(pages[:70], replace(config, trainer=settings), 1, tmp_path / "checkpoint.pt")
    batches = -(-len(training_pages(pages[:70], config.data)) // 15)
    assert batches == 4
    assert [group["lr"] for group in run.optimizer.param_groups] == [last]


def test_a_checkpoint_of_another_configuration_or_of_other_pages_is_not_gone_on_with(config, pages, tmp_path):
    short = replace(config, trainer=replace(config.trainer, epochs=1))
    train_boilernet(pages, short, 1, tmp_path / "checkpoint.pt")
    with pytest.raises(ConfigurationError, match="another configuration"):
        train_boilernet(pages, config, 1, tmp_path / "checkpoint.pt")
    others = [replace(pages[0], validation=True), *pages[1:]]
    with pytest.raises(ConfigurationError, match="other pages"):
        train_boilernet(others, short, 1, tmp_path / "checkpoint.pt")


def test_a_run_survives_being_saved(tmp_path):
    config = BoilerNetConfig.read(DEFAULT_CONFIG)
    config = replace(config, trainer=replace(config.trainer, adam_epsilon=1e-6))
    vocabulary = Vocabulary(("p",), ("mill",), ignored=("!",), separate_unknown=False)
    run = replace(new_run(config, vocabulary, seed=1), epochs=3, seconds=7.5)
    save(run, ORIGIN, tmp_path / "checkpoint.pt")
    back = load(tmp_path / "checkpoint.pt", config, ORIGIN)
    assert (back.config, back.seed, back.vocabulary) == (run.config, 1, run.vocabulary)
    assert (back.epochs, back.seconds) == (3, 7.5)
    assert [group["eps"] for group in back.optimizer.param_groups] == [1e-6]
    ours, theirs = run.network.state_dict(), back.network.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_a_run_gives_the_network_of_its_best_epoch(tmp_path):
    run = new_run(BoilerNetConfig.read(DEFAULT_CONFIG), Vocabulary(("p",), ("mill",)), seed=1)
    save(run, ORIGIN, tmp_path / "checkpoint.pt")
    assert torch.equal(
        load_trained(tmp_path / "checkpoint.pt", run.config, ORIGIN).network.bias, run.network.bias
    )
    weights = {name: value + 1 for name, value in run.network.state_dict().items()}
    save(replace(run, best=Best(2, 0.75, weights)), ORIGIN, tmp_path / "checkpoint.pt")
    assert torch.equal(load(tmp_path / "checkpoint.pt", run.config, ORIGIN).network.bias, run.network.bias)
    trained = load_trained(tmp_path / "checkpoint.pt", run.config, ORIGIN)
    assert (trained.best.epochs, trained.best.score) == (2, 0.75)
    assert torch.equal(trained.network.bias, run.network.bias + 1)


def test_a_missing_checkpoint_says_what_to_run(tmp_path):
    with pytest.raises(ConfigurationError, match="python -m training train"):
        load(tmp_path / "checkpoint.pt", BoilerNetConfig.read(DEFAULT_CONFIG), ORIGIN)


HTML = "<p>the mill<p>a wheel"


@pytest.fixture
def run():
    return new_run(
        BoilerNetConfig.read(DEFAULT_CONFIG), Vocabulary(("html", "body", "p"), ("mill", "wheel")), seed=1
    )


def test_a_page_is_answered_as_the_network_answers_it_when_it_learns(run):
    page = label(GoldPage("1", "mill.example", "article", HTML, "the mill"), 2 / 3)
    answered = network_answer(run)(page.encoded)
    with torch.inference_mode():
        logits = run.network([example(page, run.vocabulary).blocks])
    assert answered.tolist() == torch.sigmoid(logits).tolist()


def test_a_page_longer_than_a_window_has_an_answer_for_each_block(run):
    page = encode(segment(HTML.encode() * (WINDOW_BLOCKS // 2 + 1)), (Encoding.TOKENS,))
    answered = network_answer(run)(page)
    assert len(answered) == len(page) > WINDOW_BLOCKS
    assert np.isfinite(answered).all()


def numbered(blocks, first=0):
    """An example whose block k has k % 3 + 1 rows, all equal to k."""
    lengths = torch.tensor([block % 3 + 1 for block in range(blocks)])
    rows = torch.repeat_interleave(torch.arange(blocks), lengths)
    return Example(Blocks(rows + first, lengths), (torch.arange(blocks) % 2).float())


def test_a_page_is_encoded_as_a_worker_encodes_it_with_its_labels():
    page = label(
        GoldPage("1", "a.example", "article", "<p>the mill turns</p><div>imprint</div>", "the mill turns"),
        2 / 3,
    )
    vocabulary = most_frequent([page.segmented], tag_limit=9, word_limit=9)
    made = example(page, vocabulary)
    names = ["", "", *vocabulary.tags, *vocabulary.words]
    assert [names[row] for row in made.blocks.rows] == (
        [
            *page.segmented.paths[0].split("/"),
            "the",
            "mill",
            "turns",
            *page.segmented.paths[1].split("/"),
            "imprint",
        ]
    )
    assert made.content.tolist() == [1.0, 0.0]


def test_a_crop_keeps_the_rows_and_labels_of_its_blocks():
    crop = numbered(20).crop(5, 4)
    assert crop.blocks.lengths.tolist() == [3, 1, 2, 3]
    assert crop.blocks.rows.tolist() == [5, 5, 5, 6, 7, 7, 8, 8, 8]
    assert crop.content.tolist() == [1, 0, 1, 0]


def test_both_classes_weigh_the_same():
    pages = [Example(numbered(4).blocks, torch.tensor([1.0, 0, 0, 0])), numbered(6)]
    boilerplate, content = class_weights(pages)
    assert boilerplate * 6 == pytest.approx(content * 4) == pytest.approx(5)


def test_the_parts_of_a_batch_are_little_padded():
    lengths = [
        [len(page) for page in part] for part in parts([numbered(each) for each in (7, 40, 10, 5, 20, 4)])
    ]
    assert lengths == [[40, 20], [10, 7, 5], [4]]
