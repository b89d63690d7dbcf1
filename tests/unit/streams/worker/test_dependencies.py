"""The dependencies of a worker, and which of them its pages wait for."""

from pathlib import Path

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.labelers import open_labeler
from dehusk.streams.sources.registry import SourceSettings
from dehusk.streams.stores.stored import StoredPath
from dehusk.streams.worker.preflight import name_dependencies
from dehusk.streams.worker_settings import WorkerSettings


@pytest.mark.parametrize(
    ("name", "waited_for"), [("kafka", True), ("redis", False), ("labeler", True), ("schema_registry", True)]
)
def test_pages_wait_for_every_dependency_but_redis(name: str, *, waited_for: bool) -> None:
    settings = WorkerSettings(source_settings=SourceSettings(schema_registry="http://registry:8081"))
    dependencies = name_dependencies(settings)
    assert (dependencies.waited_for, dependencies.missing) == (False, [])
    dependency = getattr(dependencies, name)
    dependency.missed(OSError())
    assert (dependencies.waited_for, dependencies.missing) == (waited_for, [dependency])


def test_a_worker_without_a_schema_registry_shows_none() -> None:
    assert [each.name for each in name_dependencies(WorkerSettings())] == ["kafka", "redis", "triton"]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (SourceSettings(reference_roots=(Path("/pages"), StoredPath("s3://pages/"))), "store"),
        (SourceSettings(warc_directory=StoredPath("https://host/")), "store"),
        (SourceSettings(schema_registry="http://registry:8081"), "schema-registry"),
    ],
)
def test_a_worker_shows_what_its_messages_may_wait_for(settings: SourceSettings, name: str) -> None:
    dependencies = name_dependencies(WorkerSettings(source_settings=settings))
    assert [each.name for each in dependencies] == ["kafka", "redis", "triton", name]


def test_a_model_in_process_is_of_the_repository_that_the_settings_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"{tmp_path} holds no model 'dehusk'"):
        open_labeler(WorkerSettings(labeler="onnx", model_repository=tmp_path))
