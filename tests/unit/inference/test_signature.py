from pathlib import Path

import onnxruntime
import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from inference.repository import DEFAULT_REPOSITORY, find_model
from inference.signature import (
    ANSWER,
    BLOCK_COUNTS,
    BLOCK_LENGTHS,
    COUNTS,
    ID_COUNTS,
    IDS,
    PROBABILITIES,
    REQUEST,
    SIGNATURE,
    SIGNATURE_KEY,
)

ONNX_TYPES = {"UINT32": "uint32", "UINT16": "uint16", "INT32": "int32", "FP32": "float"}
MODELS = sorted(file.parent for file in DEFAULT_REPOSITORY.glob("*/config.pbtxt"))


@pytest.fixture(params=MODELS, ids=lambda model: model.name)
def model(request) -> Path:
    return request.param


@pytest.fixture
def config(model):
    return text_format.Parse((model / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())


def tensors(declared):
    return [(each.name, model_config_pb2.DataType.Name(each.data_type), list(each.dims)) for each in declared]


def expected(signature):
    return [(tensor.name, f"TYPE_{tensor.data_type}", [-1]) for tensor in signature]


def test_there_is_a_model():
    assert MODELS


def test_triton_is_told_the_tensors_of_the_signature(config, model):
    assert config.name == model.name
    assert config.backend == "onnxruntime"
    assert tensors(config.input) == expected(REQUEST)
    assert all(each.allow_ragged_batch for each in config.input)
    assert tensors(config.output) == expected(ANSWER)
    assert config.parameters[SIGNATURE_KEY].string_value == SIGNATURE


def test_triton_counts_what_each_page_brings_and_scatters_the_answer(config):
    kinds = model_config_pb2.BatchInput.Kind.Name, model_config_pb2.BatchOutput.Kind.Name
    counted = [
        (list(each.source_input), list(each.target_name), kinds[0](each.kind)) for each in config.batch_input
    ]
    assert counted == [
        ([IDS.name], [ID_COUNTS.name], "BATCH_ELEMENT_COUNT"),
        ([BLOCK_LENGTHS.name], [BLOCK_COUNTS.name], "BATCH_ELEMENT_COUNT"),
    ]
    (scattered,) = config.batch_output
    assert (list(scattered.source_input), list(scattered.target_name)) == (
        [BLOCK_LENGTHS.name],
        [PROBABILITIES.name],
    )
    assert kinds[1](scattered.kind) == "BATCH_SCATTER_WITH_INPUT_SHAPE"


def test_the_model_file_has_the_tensors_of_the_signature(model):
    _, file = find_model(DEFAULT_REPOSITORY, model.name)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    inputs = {each.name: each.type for each in session.get_inputs()}
    outputs = {each.name: each.type for each in session.get_outputs()}
    assert inputs == {each.name: f"tensor({ONNX_TYPES[each.data_type]})" for each in (*REQUEST, *COUNTS)}
    assert outputs == {each.name: f"tensor({ONNX_TYPES[each.data_type]})" for each in ANSWER}
    assert session.get_modelmeta().custom_metadata_map[SIGNATURE_KEY] == SIGNATURE
