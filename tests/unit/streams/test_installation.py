import tomllib
from pathlib import Path

from dehusk.streams.wording import how_to_install

ROOT = Path(__file__).parents[3]


def test_what_it_names_is_there_in_a_checkout() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {"local", "demo"} <= set(extras)
    assert "\nsetup:" in (ROOT / "Makefile").read_text()
    assert how_to_install("local") == "`pip install 'dehusk[local]'`, or `make setup` in its checkout"
