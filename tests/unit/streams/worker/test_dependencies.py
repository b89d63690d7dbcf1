"""The dependencies of a worker, and which of them its pages wait for."""

import pytest

from dehusk.streams.worker.dependencies import name_dependencies
from dehusk.streams.worker.settings import WorkerSettings


@pytest.mark.parametrize(
    ("name", "waited_for"), [("kafka", True), ("redis", False), ("labeler", True), ("schema_registry", True)]
)
def test_pages_wait_for_every_dependency_but_redis(name: str, *, waited_for: bool) -> None:
    dependencies = name_dependencies(WorkerSettings())
    assert (dependencies.waited_for, dependencies.unavailable) == (False, [])
    dependency = getattr(dependencies, name)
    dependency.missed(OSError())
    assert (dependencies.waited_for, dependencies.unavailable) == (waited_for, [dependency])
