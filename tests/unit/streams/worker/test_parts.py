"""The parts of a worker, and which of them its pages wait for."""

import pytest

from streams.worker.parts import name_parts
from streams.worker.settings import WorkerSettings


@pytest.mark.parametrize(
    ("name", "waited_for"), [("kafka", True), ("redis", False), ("labeler", True), ("schema_registry", True)]
)
def test_pages_wait_for_every_part_but_redis(name: str, *, waited_for: bool) -> None:
    parts = name_parts(WorkerSettings())
    assert (parts.waited_for, parts.away) == (False, [])
    part = getattr(parts, name)
    part.missed(OSError())
    assert (parts.waited_for, parts.away) == (waited_for, [part])
