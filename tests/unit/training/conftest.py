"""Tests of the modules that import the training framework are only collected where it is installed."""

from importlib.util import find_spec

collect_ignore = [
    f"test_{module}.py"
    for module in ("card", "checkpoint", "examples", "export", "network", "publish", "trainer")
    if find_spec("torch") is None
]
