import numpy as np
import pytest

from dehusk.inference.labelers.golden import GOLDEN_FILE, parse_golden
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.training.versions import golden_answers, write_golden

KINDS = np.linspace(0, 0.5, 7, dtype=np.float32)
VERSIONS = sorted(file.parent for file in DEFAULT_REPOSITORY.glob(f"*/*/{GOLDEN_FILE}"))


@pytest.mark.parametrize(
    ("outputs", "kinds", "tensors"), [((), None, 1), ((2,), None, 2), ((2,), lambda page: KINDS, 3)]
)
def test_golden_answers_survive_being_written(tmp_path, outputs, kinds, tensors):
    random = np.random.default_rng(3)
    answers = golden_answers(lambda page: random.random((*outputs, len(page)), np.float32), kinds)
    write_golden(tmp_path / "golden.json", answers)
    back = parse_golden((tmp_path / "golden.json").read_bytes())
    assert [each.name for each in back] == ["article", "forum", "notice", "shop"]
    for before, after in zip(answers, back, strict=True):
        assert [each.tolist() for each in before.tensors] == [each.tolist() for each in after.tensors]
        assert len(after.page) == len(after.probabilities)
        assert len(after.tensors) == tensors


def test_there_are_versions():
    assert VERSIONS


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"{version.parent.name}-{version.name}")
async def test_every_version_answers_as_the_training_framework_did(version):
    golden = parse_golden((version / GOLDEN_FILE).read_bytes())
    answers = await OnnxLabeler(version.parent.name, version.name).label([each.page for each in golden])
    for expected, answer in zip(golden, answers, strict=True):
        assert answer.probabilities == pytest.approx(expected.probabilities, abs=1e-5)
        assert answer.comments == pytest.approx(expected.comments, abs=1e-5)
        assert answer.page_kinds == pytest.approx(expected.page_kinds, abs=1e-5)
