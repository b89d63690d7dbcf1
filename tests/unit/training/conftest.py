"""Tests of modules that import what not every environment has are only collected where it is."""

from importlib.util import find_spec

import pytest

from tests.unit.training.prepared import prepared

_NEED_IT = [
    *(f"test_{name}.py" for name in ("commands", "learning", "publishing", "word_vectors")),
    *(f"boilernet/test_{name}.py" for name in ("commands", "export", "network", "trainer")),
    *(f"dehusk/test_{name}.py" for name in ("export", "model", "token_scores", "trainer")),
    *(f"dehusk/test_{name}.py" for name in ("first_pass", "second_pass", "second_pass_graph")),
    *(
        f"fine_tuning/test_{name}.py"
        for name in ("commands", "correction", "graph", "labeling_tool", "trials", "validation")
    ),
    *(f"site_signal/test_{name}.py" for name in ("commands", "fitting")),
    *(f"web2text/test_{name}.py" for name in ("commands", "export", "model")),
]
_NEED_EXTRACTORS = ["pages/test_extractors.py", "comparison/test_extractors.py"]
_NEED_DRAWING = ["comparison/test_picture.py"]
collect_ignore = [
    *(_NEED_IT if find_spec("torch") is None else []),
    *(_NEED_EXTRACTORS if not all(map(find_spec, ("trafilatura", "readability"))) else []),
    *(_NEED_DRAWING if find_spec("matplotlib") is None else []),
]


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    """Networks are made on this device; a machine without it skips the test."""
    import torch  # not installed where other tests run

    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    with torch.device(request.param):
        yield request.param


@pytest.fixture(scope="session")
def pages():
    return [prepared(number) for number in range(24)]
