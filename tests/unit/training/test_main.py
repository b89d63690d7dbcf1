import sys

import pytest

from training.__main__ import main


def test_without_the_training_framework_one_line_says_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    for module in [name for name in sys.modules if name.startswith("training.dehusk")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "argv", ["training", "cross-validate", "--directory", str(tmp_path)])
    with pytest.raises(SystemExit, match="not installed here"):
        main()
