"""The labeler against a server that speaks Triton's protocol and misbehaves on purpose.

The real one is in tests/integration.
"""

import asyncio

import grpc
import numpy as np
import pytest
from tritonclient.grpc import service_pb2, service_pb2_grpc

from dehusk.inference.labelers import triton as module
from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.labelers.signature import SIGNATURE_KEY, TOKENS, TRUSTED_KEY
from dehusk.inference.labelers.triton import CONCURRENT_REQUESTS, TritonLabeler
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import ModelVersion
from tests.encoded import page_of


class Server(service_pb2_grpc.GRPCInferenceServiceServicer):
    """Answers 0.5 for every block."""

    def __init__(self):
        self.signature = TOKENS.declared
        self.tensors = [("ids", "UINT32"), ("block_len", "UINT16")], [("prob", "FP32")]
        self.versions = []
        self.trusted = ""
        self.gone = ""
        self.status = None
        self.running = self.most_running = 0

    async def ModelMetadata(self, request, context):  # noqa: N802 the protocol's name
        if request.name != "boilernet":
            await context.abort(grpc.StatusCode.NOT_FOUND, "Request for unknown model")
        tensor = service_pb2.ModelMetadataResponse.TensorMetadata
        inputs, outputs = (
            [tensor(name=name, datatype=kind, shape=[-1, -1]) for name, kind in each] for each in self.tensors
        )
        return service_pb2.ModelMetadataResponse(versions=["2", "10"], inputs=inputs, outputs=outputs)

    async def ModelConfig(self, request, context):  # noqa: N802 the protocol's name
        response = service_pb2.ModelConfigResponse()
        response.config.parameters[SIGNATURE_KEY].string_value = self.signature
        if self.trusted:
            response.config.parameters[TRUSTED_KEY].string_value = self.trusted
        return response

    async def ModelInfer(self, request, context):  # noqa: N802 the protocol's name
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        await asyncio.sleep(0.001)
        self.running -= 1
        if self.status is not None:
            await context.abort(self.status, "on purpose")
        if request.model_version == self.gone != "":
            await context.abort(grpc.StatusCode.UNAVAILABLE, "version is not at ready state")
        version = self.versions.pop(0) if self.versions else request.model_version
        response = service_pb2.ModelInferResponse(model_name="boilernet", model_version=version)
        name, kind = self.tensors[1][0]
        answer = self.answer(request.inputs[1].shape[1])
        response.outputs.add(name=name, datatype=kind, shape=[1, len(answer)])
        response.raw_output_contents.append(answer.tobytes())
        return response

    def answer(self, blocks):
        return np.full(blocks, 0.5, np.float32)


@pytest.fixture
async def server():
    servicer = Server()
    running = grpc.aio.server()
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(servicer, running)
    servicer.address = f"127.0.0.1:{running.add_insecure_port('127.0.0.1:0')}"
    await running.start()
    yield servicer
    await running.stop(None)


@pytest.fixture
async def labeler(server):
    labeler = TritonLabeler(server.address, "boilernet")
    yield labeler
    await labeler.close()


def page(blocks):
    return page_of(np.zeros(blocks, np.uint32), np.ones(blocks))


async def test_each_page_gets_its_probabilities_and_the_version_that_gave_them(labeler):
    answers = await labeler.label([page(3), page(0), page(5)])
    assert [answer.probabilities.tolist() for answer in answers] == [[0.5] * 3, [], [0.5] * 5]
    assert {answer.model for answer in answers} == {ModelVersion("boilernet", "10")}


async def test_requests_in_flight_are_bounded(labeler, server):
    await labeler.label([page(1)] * (3 * CONCURRENT_REQUESTS))
    assert 1 < server.most_running <= CONCURRENT_REQUESTS


async def test_a_page_whose_windows_met_different_versions_is_labeled_again(labeler, server):
    server.versions = ["2", "10"]
    (labels,) = await labeler.label([page(WINDOW_BLOCKS + 1)])
    assert labels.model == ModelVersion("boilernet", "10")
    assert len(labels.probabilities) == WINDOW_BLOCKS + 1


async def test_without_a_version_the_trusted_one_labels_and_is_followed(labeler, server, monkeypatch):
    async def labeling():
        (labels,) = await labeler.label([page(1)])
        return labels.model.version

    server.trusted = "2"
    assert await labeling() == "2"
    server.trusted = "10"
    assert await labeling() == "2"
    monkeypatch.setattr(module, "FOLLOW_SECONDS", 0.0)
    assert await labeling() == "10"
    server.trusted = "11"
    assert await labeling() == "10"


async def test_a_trusted_version_that_is_unloaded_is_left_at_once(labeler, server):
    server.trusted = "2"
    await labeler.label([page(1)])
    server.gone, server.trusted = "2", "10"
    answers = await labeler.label([page(1)] * 3)
    assert {labels.model.version for labels in answers} == {"10"}
    server.gone = "10"
    with pytest.raises(UnavailableError, match="not at ready state"):
        await labeler.label([page(1)])


@pytest.mark.parametrize(
    "change",
    [
        {"signature": "tokens of tomorrow"},
        {"signature": ""},
        {"tensors": ([("ids", "UINT32"), ("block_len", "UINT16"), ("features", "FP32")], [("prob", "FP32")])},
        {"tensors": ([("ids", "INT64"), ("block_len", "UINT16")], [("prob", "FP32")])},
        {"tensors": ([("ids", "UINT32"), ("block_len", "UINT16")], [("logits", "FP32")])},
    ],
)
async def test_a_model_of_another_signature_is_a_configuration_error(labeler, server, change):
    for name, value in change.items():
        setattr(server, name, value)
    with pytest.raises(ConfigurationError, match="declares the signature"):
        await labeler.label([page(1)])


async def test_a_version_that_answers_for_the_first_time_is_checked(labeler, server):
    await labeler.label([page(1)])
    server.signature, server.versions = "tokens of tomorrow", ["11"]
    with pytest.raises(ConfigurationError, match="tokens of tomorrow"):
        await labeler.label([page(1)])


@pytest.mark.parametrize("answer", [[], [0.5, 0.5], [0.5, 0.5, np.nan], [0.5, 0.5, 2.0]])
async def test_an_answer_that_is_not_a_probability_per_block_breaks_the_page_alone(labeler, server, answer):
    honest = server.answer
    server.answer = lambda blocks: np.array(answer, np.float32) if blocks == 3 else honest(blocks)
    broken, labels = await labeler.label([page(3), page(4)])
    assert isinstance(broken, Broken)
    assert broken.reason is BrokenReason.REJECTED_BY_MODEL
    assert len(labels.probabilities) == 4


async def test_a_request_that_triton_calls_wrong_breaks_the_page(labeler, server):
    server.status = grpc.StatusCode.INVALID_ARGUMENT
    (broken,) = await labeler.label([page(3)])
    assert broken.reason is BrokenReason.REJECTED_BY_MODEL
    assert "on purpose" in broken.detail


@pytest.mark.parametrize(
    "status", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.RESOURCE_EXHAUSTED]
)
async def test_a_triton_that_cannot_serve_now_is_unavailable(labeler, server, status):
    server.status = status
    with pytest.raises(UnavailableError, match="on purpose"):
        await labeler.label([page(3)] * 4)
    server.status = None
    assert len(await labeler.label([page(3)] * 4)) == 4


async def test_a_missing_model_is_a_configuration_error(server):
    labeler = TritonLabeler(server.address, "missing")
    with pytest.raises(ConfigurationError, match="unknown model"):
        await labeler.label([page(3)])
    await labeler.close()


async def test_nobody_at_the_address_is_unavailable():
    labeler = TritonLabeler("127.0.0.1:1", "boilernet")
    with pytest.raises(UnavailableError, match=r"Triton at 127\.0\.0\.1:1"):
        await labeler.label([page(3)])
    await labeler.close()
