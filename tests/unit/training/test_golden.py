import numpy as np

from training.golden import golden_answers, read_golden, write_golden


def test_golden_answers_survive_being_written(tmp_path):
    random = np.random.default_rng(3)
    answers = golden_answers(lambda page: random.random(len(page), np.float32))
    write_golden(tmp_path / "golden.json", answers)
    back = read_golden(tmp_path / "golden.json")
    assert [each.name for each in back] == ["article", "forum", "notice", "shop"]
    for before, after in zip(answers, back, strict=True):
        assert (before.probabilities == after.probabilities).all()
        assert len(after.page) == len(after.probabilities)
