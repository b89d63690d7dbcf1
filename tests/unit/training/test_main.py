import sys

import pytest
from click.testing import CliRunner

from dehusk.training.__main__ import cli, main


def test_without_the_training_framework_one_line_says_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    for module in [name for name in sys.modules if name.startswith("dehusk.training.dehusk")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "argv", ["training", "cross-validate", "--directory", str(tmp_path)])
    with pytest.raises(SystemExit, match="not installed here"):
        main()


def test_without_the_extractors_one_line_says_where_they_are(monkeypatch, tmp_path):
    (tmp_path / "pages.jsonl.xz").touch()
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    monkeypatch.delitem(sys.modules, "dehusk.training.pages.extractors", raising=False)
    monkeypatch.setattr(
        sys, "argv", ["training", "teach", "--teacher", "dehusk/7", str(tmp_path / "pages.jsonl.xz")]
    )
    with pytest.raises(SystemExit, match="trafilatura is not installed"):
        main()


def test_the_help_lists_the_commands_in_the_order_of_use():
    shown = CliRunner().invoke(cli, ["--help"]).stdout.partition("Commands:")[2]
    names = [line.split()[0] for line in shown.splitlines() if line.startswith("  ") and line[2] != " "]
    making = "teach prepare train cross-validate evaluate export fine-tune try-fine-tuning signal vectors"
    assert names == [*making.split(), "predict", "compare"]
