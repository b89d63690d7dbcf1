"""The real parts that integration tests share: started once per run, on ports of their own."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from streams.local.stack import LocalStack

INTEGRATION = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test in this folder is an integration test."""
    for item in items:
        if item.path.is_relative_to(INTEGRATION):
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Kafka (one node), Redis and Triton; a test that stops a part starts it again."""
    with LocalStack(tmp_path_factory.mktemp("stack")) as running:
        yield running


@pytest.fixture
def fresh() -> str:
    """A name that no other test uses, for topics, groups and sites: `f"{fresh}-raw"`."""
    return f"test-{uuid4().hex[:12]}"
