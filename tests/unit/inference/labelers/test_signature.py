from pathlib import Path

import onnxruntime
import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.inference.labelers.signature import SIGNATURE_KEY, SIGNATURES, Signature, signature_of

ONNX_TYPES = {
    "UINT32": "uint32",
    "UINT16": "uint16",
    "UINT8": "uint8",
    "INT32": "int32",
    "FP16": "float16",
    "FP32": "float",
}
MODELS = sorted(file.parent for file in DEFAULT_REPOSITORY.glob("*/config.pbtxt"))


@pytest.fixture(params=MODELS, ids=lambda model: model.name)
def model(request) -> Path:
    return request.param


@pytest.fixture
def config(model):
    return text_format.Parse((model / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())


@pytest.fixture
def signature(config) -> Signature:
    declared = signature_of(config.parameters[SIGNATURE_KEY].string_value)
    assert declared is not None
    return declared


def tensors(declared):
    return [(each.name, model_config_pb2.DataType.Name(each.data_type), list(each.dims)) for each in declared]


def expected(declared):
    return [(each.name, f"TYPE_{each.data_type}", [len(each.columns) or -1]) for each in declared]


def test_there_is_a_model():
    assert MODELS


def test_each_signature_is_found_by_what_a_model_declares():
    assert [signature_of(each.declared) for each in SIGNATURES] == list(SIGNATURES)
    assert signature_of("tokens 2 crc32; ids UINT64") is None


def test_every_tensor_that_counts_or_sizes_is_sent():
    for each in SIGNATURES:
        assert {each.per_block, *(count.counted for count in each.counts)} <= set(each.request)


def test_triton_is_told_the_tensors_of_the_signature(config, model, signature):
    assert config.name == model.name
    assert config.backend == "onnxruntime"
    assert tensors(config.input) == expected(signature.request)
    assert all(each.allow_ragged_batch for each in config.input)
    assert tensors(config.output) == expected(signature.answer)


def test_triton_keeps_no_memory_pattern_for_each_size_of_a_batch(config):
    assert config.parameters["enable_mem_pattern"].string_value == "0"


def test_triton_counts_what_each_page_brings_and_scatters_the_answer(config, signature):
    kinds = model_config_pb2.BatchInput.Kind.Name, model_config_pb2.BatchOutput.Kind.Name
    counted = [
        (list(each.source_input), list(each.target_name), kinds[0](each.kind)) for each in config.batch_input
    ]
    assert counted == [
        ([count.counted.name], [count.tensor.name], "BATCH_ELEMENT_COUNT") for count in signature.counts
    ]
    scattered = [
        (list(each.source_input), list(each.target_name), kinds[1](each.kind)) for each in config.batch_output
    ]
    assert scattered == [
        ([signature.per_block.name], [tensor.name], "BATCH_SCATTER_WITH_INPUT_SHAPE")
        for tensor in signature.answer
        if not tensor.columns
    ]


def test_the_model_file_has_the_tensors_of_the_signature(model, signature):
    _, file = find_model(DEFAULT_REPOSITORY, model.name)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    inputs = {each.name: each.type for each in session.get_inputs()}
    outputs = {each.name: each.type for each in session.get_outputs()}
    sent = (*signature.request, *(count.tensor for count in signature.counts))
    assert inputs == {each.name: f"tensor({ONNX_TYPES[each.data_type]})" for each in sent}
    assert outputs == {each.name: f"tensor({ONNX_TYPES[each.data_type]})" for each in signature.answer}
    assert session.get_modelmeta().custom_metadata_map[SIGNATURE_KEY] == signature.declared
