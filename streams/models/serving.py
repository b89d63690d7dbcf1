"""A model's `config.pbtxt`, and the versions that Triton serves by it.

A policy that names versions persists: it survives restarts of Triton, loads by other clients, and added
versions. A policy given with a load is lost with the next version on disk. Requests without a version get the
newest served one, so clients that need an older one name it.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from google.protobuf import json_format, text_format
from tritonclient.grpc import model_config_pb2

from dehusk.inference.labelers.repository import CONFIG_FILE, versions
from dehusk.inference.labelers.signature import SIGNATURE_KEY, Signature, Tensor
from dehusk.inference.labelers.version_policy import with_versions
from dehusk.schemas.errors import ConfigurationError, DehuskError, UnavailableError
from dehusk.schemas.rollout import Rollout
from dehusk.streams.models.names import Fault, FaultError
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.store import write_config

_TENSORS = ("input", "output", "batch_input", "batch_output")
_BATCH = 16


def read_config(text: str) -> Any:  # noqa: ANN401 Triton's messages have no types
    """Parse a `config.pbtxt` to a `ModelConfig` of Triton's.

    Raises:
        FaultError: it holds none.
    """
    try:
        return text_format.Parse(text, model_config_pb2.ModelConfig())
    except text_format.ParseError as error:
        raise FaultError(Fault.WRONG_CONFIG, f"config.pbtxt cannot be read: {error}") from error


def check_config(config: Any, signature: Signature) -> None:  # noqa: ANN401 see above
    """Check that a configuration is one of a signature.

    Raises:
        FaultError: it names another backend, signature or other tensors, or does not batch.
    """
    expected = config_of(signature)
    if (config.backend, config.platform) not in {("onnxruntime", ""), ("", "onnxruntime_onnx")}:
        raise _wrong_config(
            f"the backend {config.backend or config.platform!r} where 'onnxruntime' is expected"
        )
    if config.default_model_filename not in {"", "model.onnx"}:
        raise _wrong_config(
            f"the model file {config.default_model_filename!r} where 'model.onnx' is expected"
        )
    if config.max_batch_size < 1:
        raise _wrong_config("no max_batch_size")
    declared = config.parameters[SIGNATURE_KEY].string_value if SIGNATURE_KEY in config.parameters else "none"
    if declared != signature.declared:
        raise _wrong_config(f"the signature {declared!r}, the model {signature.declared!r}")
    for field in _TENSORS:
        if _by_name(config, field) != _by_name(expected, field):
            raise _wrong_config(f"other tensors in `{field}` than the signature")


def config_of(signature: Signature) -> Any:  # noqa: ANN401 see above
    """Return a configuration that serves a signature."""
    return json_format.ParseDict(
        {
            "backend": "onnxruntime",
            "max_batch_size": _BATCH,
            "input": [{**_declared(each), "allow_ragged_batch": True} for each in signature.request],
            "output": [_declared(each) for each in signature.answer],
            "batch_input": [
                {
                    "kind": "BATCH_ELEMENT_COUNT",
                    "target_name": [each.tensor.name],
                    "data_type": f"TYPE_{each.tensor.data_type}",
                    "source_input": [each.counted.name],
                }
                for each in signature.counts
            ],
            "batch_output": [
                {
                    "kind": "BATCH_SCATTER_WITH_INPUT_SHAPE",
                    "target_name": [each.name],
                    "source_input": [signature.per_block.name],
                }
                for each in signature.answer
            ],
            "dynamic_batching": {},
            "parameters": {
                SIGNATURE_KEY: {"string_value": signature.declared},
                "intra_op_thread_count": {"string_value": "1"},
            },
        },
        model_config_pb2.ModelConfig(),
    )


def as_override(config: Any, name: str) -> str:  # noqa: ANN401 see above
    """Return a configuration as the JSON that a load takes, of a model of another name with one version."""
    renamed = model_config_pb2.ModelConfig()
    renamed.CopyFrom(config)
    renamed.name = name
    renamed.ClearField("version_policy")
    renamed.ClearField("model_warmup")
    override: str = json_format.MessageToJson(renamed, preserving_proto_field_name=True)
    return override


def _declared(tensor: Tensor) -> dict[str, Any]:
    return {"name": tensor.name, "data_type": f"TYPE_{tensor.data_type}", "dims": [-1]}


def _by_name(config: Any, field: str) -> list[bytes]:  # noqa: ANN401 see above
    return sorted(each.SerializeToString(deterministic=True) for each in getattr(config, field))


def _wrong_config(what: str) -> FaultError:
    return FaultError(Fault.WRONG_CONFIG, f"config.pbtxt declares {what}")


async def serve(server: ModelServer, repository: Path, model: str, wanted: Sequence[str]) -> None:
    """Have Triton serve exactly these versions; those served before answer meanwhile.

    After a failure, the configuration is put back and loaded.

    Raises:
        ConfigurationError: the repository holds no such version, or Triton cannot load one.
        UnavailableError: Triton does not answer.
    """
    check_stored(repository, model, wanted)
    directory = repository / model
    before = (directory / CONFIG_FILE).read_text(encoding="utf-8")
    after = with_versions(before, wanted)
    if after != before:
        write_config(directory, after)
    try:
        await server.load(model)
        await _check_served(server, model, wanted)
    except BaseException:
        if after != before:
            write_config(directory, before)
            await _reload(server, model)
        raise


def check_stored(repository: Path, model: str, wanted: Sequence[str]) -> None:
    """Check that a repository holds some versions of a model.

    Raises:
        ConfigurationError: it does not, or there are none.
    """
    known = versions(repository, model)
    missing = [version for version in wanted if version not in known]
    if missing or not wanted:
        raise ConfigurationError(
            f"{repository} holds no version {', '.join(missing) or 'that is named'} of model {model!r}; "
            f"versions there: {', '.join(known) or 'none'}"
        )


async def _check_served(server: ModelServer, model: str, wanted: Sequence[str]) -> None:
    ready = await server.ready(model)
    if set(ready) != set(wanted):
        raise UnavailableError(
            f"Triton at {server.address} serves version {', '.join(ready) or 'none'} of model {model!r}, "
            f"not {', '.join(wanted)}: does it read this repository?"
        )


async def _reload(server: ModelServer, model: str) -> None:
    """Have Triton read the configuration as it was; a failure hides no earlier error."""
    with suppress(DehuskError):
        await server.load(model)


async def to_serve(server: ModelServer, repository: Path, model: str, state: Rollout) -> list[str]:
    """Return the versions to serve from a repository, oldest first; none if Triton serves all of them.

    Versions served now stay; the state's previous version is included while it is on disk. A repository that
    lacks versions that Triton serves is not the one that Triton reads.

    Raises:
        ConfigurationError: Triton does not serve all that is named, and the repository does not hold it.
        UnavailableError: Triton does not answer.
    """
    stored, ready = versions(repository, model), await ready_versions(server, model)
    wanted = [version for version in stored if version in {*state.kept, *ready}]
    if {*state.versions, *ready} <= set(stored):
        return wanted if set(wanted) != set(ready) else []
    if missing := [version for version in state.versions if version not in ready]:
        raise ConfigurationError(
            f"Triton at {server.address} serves version {', '.join(ready) or 'none'} of model {model!r}, and "
            f"not {', '.join(missing)}, and {repository} does not hold all of them: put it there with "
            "`dehusk model add`, or name the repository that this Triton serves with --model-repository"
        )
    return []


async def ready_versions(server: ModelServer, model: str) -> list[str]:
    """Return the versions that Triton serves, oldest first.

    Raises:
        UnavailableError: it does not answer; the message says what to do where there is none.
    """
    try:
        return await server.ready(model)
    except UnavailableError as error:
        raise UnavailableError(
            f"{error}; name it with --triton, or give --without-triton for workers with --labeler onnx"
        ) from error
