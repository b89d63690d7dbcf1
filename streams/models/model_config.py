"""A model's `config.pbtxt`: read, checked, made for a signature, and given to a load over the network."""

from math import prod
from pathlib import Path
from typing import Any

from google.protobuf import json_format, text_format
from tritonclient.grpc import model_config_pb2

from dehusk.inference.labelers.repository import MODEL_FILE
from dehusk.inference.labelers.signature import SIGNATURE_KEY, Signature, Tensor
from dehusk.streams.models.candidate import MAX_TEXT_BYTES, read_plain
from dehusk.streams.models.names import Fault, FaultError

WARMUP = "warmup"
"""Folder in a model's directory with the files that a warm-up sends."""
_FILE_PARAMETERS = ("TRITON_BATCH_STRATEGY_PATH", "EXECUTION_ENV_PATH")
"""Parameters that name a library that Triton loads, and an archive with the Python of its backend."""
_TENSORS = ("input", "output", "batch_input", "batch_output")
_BATCH = 16
_MOST_INSTANCES, _MOST_REQUESTS, _MOST_NUMBERS = 64, 1000, 1 << 24
"""Limits of a load, as Triton has none and would lack memory or time for other models: of the instances of a
version, of the requests of its warm-ups, and of the numbers in their inputs."""


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
        FaultError: it names another backend, signature or other tensors, does not batch, has Triton load
            files that are no part of a version, or makes a load too large.
    """
    _check_files(config)
    _check_load(config)
    expected = config_of(signature)
    if (config.backend, config.platform) not in {("onnxruntime", ""), ("", "onnxruntime_onnx")}:
        raise _wrong_config(
            f"the backend {config.backend!r} and the platform {config.platform!r} where the backend "
            "'onnxruntime' alone is expected"
        )
    if config.max_batch_size < 1:
        raise _wrong_config("no max_batch_size")
    declared = config.parameters[SIGNATURE_KEY].string_value if SIGNATURE_KEY in config.parameters else "none"
    if declared != signature.declared:
        raise _wrong_config(f"the signature {declared!r}, the model {signature.declared!r}")
    for field in _TENSORS:
        if _by_name(config, field) != _by_name(expected, field):
            raise _wrong_config(f"other tensors in `{field}` than the signature")


def _check_files(config: Any) -> None:  # noqa: ANN401 see above
    if config.default_model_filename not in {"", MODEL_FILE}:
        raise _wrong_config(
            f"the model file {config.default_model_filename!r} where {MODEL_FILE!r} is expected"
        )
    for field, is_set in (
        ("cc_model_filenames", config.cc_model_filenames),
        ("model_operations", config.model_operations.op_library_filename),
        ("model_repository_agents", config.model_repository_agents.agents),
        ("runtime", config.runtime),
        *((name, name in config.parameters) for name in _FILE_PARAMETERS),
    ):
        if is_set:
            raise _wrong_config(f"`{field}`, whose files are no part of a version and would not be verified")


def _check_load(config: Any) -> None:  # noqa: ANN401 see above
    instances = (max(each.count, 1) * max(len(each.gpus), 1) for each in config.instance_group)
    requests = (max(each.count, 1) for each in config.model_warmup)
    numbers = (
        prod(map(abs, each.dims)) * max(warmup.batch_size, 1)
        for warmup in config.model_warmup
        for each in warmup.inputs.values()
    )
    for count, most, what in (
        (sum(instances), _MOST_INSTANCES, "instances"),
        (sum(requests), _MOST_REQUESTS, "requests of `model_warmup`"),
        (sum(numbers), _MOST_NUMBERS, "numbers in the inputs of `model_warmup`"),
    ):
        if count > most:
            raise _wrong_config(f"{count:,} {what}; {most:,} are loaded at most")


def warmup_files(config: Any, directory: Path) -> dict[str, bytes]:  # noqa: ANN401 see above
    """Return the files that the warm-ups of a model send, by their names in its folder `warmup`.

    Raises:
        FaultError: one is missing, a link or too large, or has a name that leads elsewhere.
    """
    inputs = (each for warmup in config.model_warmup for each in warmup.inputs.values())
    names = sorted({each.input_data_file for each in inputs if each.input_data_file})
    for name in names:
        if name != Path(name).name or "\0" in name:
            raise _wrong_config(f"a `model_warmup` with the file {name!r}, which has to be a plain name")
    return {name: read_plain(directory / WARMUP / name, MAX_TEXT_BYTES) for name in names}


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
                if not each.columns  # Triton gives each request its rows of these by itself
            ],
            "dynamic_batching": {},
            "parameters": {
                SIGNATURE_KEY: {"string_value": signature.declared},
                "intra_op_thread_count": {"string_value": "1"},
            },
        },
        model_config_pb2.ModelConfig(),
    )


def as_override(config: Any) -> str:  # noqa: ANN401 see above
    """Return a configuration as the JSON that a load takes instead of the file."""
    override: str = json_format.MessageToJson(config, preserving_proto_field_name=True)
    return override


def renamed(config: Any, name: str) -> Any:  # noqa: ANN401 see above
    """Return the configuration of a model of another name with one version."""
    other = model_config_pb2.ModelConfig()
    other.CopyFrom(config)
    other.name = name
    other.ClearField("version_policy")
    return other


def _declared(tensor: Tensor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "data_type": f"TYPE_{tensor.data_type}",
        "dims": [len(tensor.columns) or -1],
    }


def _by_name(config: Any, field: str) -> list[bytes]:  # noqa: ANN401 see above
    return sorted(each.SerializeToString(deterministic=True) for each in getattr(config, field))


def _wrong_config(what: str) -> FaultError:
    return FaultError(Fault.WRONG_CONFIG, f"config.pbtxt declares {what}")
