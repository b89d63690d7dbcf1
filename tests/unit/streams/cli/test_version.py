import re

from click.testing import CliRunner

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, versions
from dehusk.streams.cli import cli


def test_the_version_names_what_decides_the_text_of_a_document() -> None:
    ended = CliRunner().invoke(cli, ["--version"])
    assert ended.exit_code == 0
    newest = versions(DEFAULT_REPOSITORY, "dehusk")[-1]
    said = "dehusk N (model dehusk/MODEL, selectolax N, ONNX Runtime N, Python N)\n"
    assert re.sub(r"\d+(\.\d+)+", "N", ended.output) == said.replace("MODEL", newest)
