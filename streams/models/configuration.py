"""The configuration of a model, `config.pbtxt`: read, compared with a signature, and made for one."""

from typing import Any

from google.protobuf import json_format, text_format
from tritonclient.grpc import model_config_pb2

from dehusk.inference.signature import SIGNATURE_KEY, Signature
from dehusk.streams.models.faults import Fault, FaultError

_TENSORS = ("input", "output", "batch_input", "batch_output")
_BATCH = 16


def read_config(text: str) -> Any:  # noqa: ANN401 a `ModelConfig` of Triton's, which has no types
    """The `ModelConfig` that a `config.pbtxt` holds.

    Raises:
        FaultError: it holds none.
    """
    try:
        return text_format.Parse(text, model_config_pb2.ModelConfig())
    except text_format.ParseError as error:
        raise FaultError(Fault.WRONG_CONFIG, f"config.pbtxt cannot be read: {error}") from error


def check_config(config: Any, signature: Signature) -> None:  # noqa: ANN401 see above
    """See whether a configuration is one of a signature.

    Raises:
        FaultError: it names another backend, signature or other tensors, or does not batch.
    """
    made = config_of(signature)
    if (config.backend, config.platform) not in {("onnxruntime", ""), ("", "onnxruntime_onnx")}:
        raise _wrong(f"the backend {config.backend or config.platform!r} where 'onnxruntime' is expected")
    if config.default_model_filename not in {"", "model.onnx"}:
        raise _wrong(f"the model file {config.default_model_filename!r} where 'model.onnx' is expected")
    if config.max_batch_size < 1:
        raise _wrong("no max_batch_size")
    declared = config.parameters[SIGNATURE_KEY].string_value if SIGNATURE_KEY in config.parameters else "none"
    if declared != signature.declared:
        raise _wrong(f"the signature {declared!r}, the model {signature.declared!r}")
    for field in _TENSORS:
        if _by_name(config, field) != _by_name(made, field):
            raise _wrong(f"other tensors in `{field}` than the signature")


def config_of(signature: Signature) -> Any:  # noqa: ANN401 see above
    """A configuration that serves a signature."""
    return json_format.ParseDict(
        {
            "backend": "onnxruntime",
            "max_batch_size": _BATCH,
            "input": [
                {
                    "name": each.name,
                    "data_type": f"TYPE_{each.data_type}",
                    "dims": [-1],
                    "allow_ragged_batch": True,
                }
                for each in signature.request
            ],
            "output": [
                {"name": each.name, "data_type": f"TYPE_{each.data_type}", "dims": [-1]}
                for each in signature.answer
            ],
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
    """A configuration as the JSON that a load takes, of a model of another name with one version."""
    renamed = model_config_pb2.ModelConfig()
    renamed.CopyFrom(config)
    renamed.name = name
    renamed.ClearField("version_policy")
    renamed.ClearField("model_warmup")
    override: str = json_format.MessageToJson(renamed, preserving_proto_field_name=True)
    return override


def _by_name(config: Any, field: str) -> list[bytes]:  # noqa: ANN401 see above
    return sorted(each.SerializeToString(deterministic=True) for each in getattr(config, field))


def _wrong(what: str) -> FaultError:
    return FaultError(Fault.WRONG_CONFIG, f"config.pbtxt declares {what}")
