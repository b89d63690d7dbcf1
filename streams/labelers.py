"""Opening of labelers by the settings, and the probe page."""

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.labeler import Labeler, open_local_labeler
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import Encoding, Prediction
from dehusk.streams.worker_settings import WorkerSettings

ALL_ENCODINGS = tuple(Encoding)
PROBE = encode(segment(b"<p>a line of text</p>", with_tree=True), ALL_ENCODINGS)
"""Smallest page; an answer to it shows that the labeler is available."""
_TIME_LIMIT = "--triton-seconds"
"""Option of `dehusk worker` that sets the time limit of Triton's answers."""


def open_labeler(settings: WorkerSettings) -> Labeler:
    """Open the labeler that the settings name.

    Raises:
        ConfigurationError: the model repository holds no such model.
    """
    triton = settings.triton
    if settings.labeler == "triton":
        from dehusk.inference.labelers.triton import TritonLabeler  # noqa: PLC0415 its client is loaded only where it is used

        return TritonLabeler(triton.address, triton.model, triton.version, triton.timeout, _TIME_LIMIT)
    if settings.labeler == "onnx":
        from dehusk.inference.labelers.onnx import OnnxLabeler  # noqa: PLC0415 protobuf is loaded only where it is used

        return OnnxLabeler(triton.model, triton.version, settings.model_repository)
    return open_local_labeler(settings.labeler)


def comments_advice(settings: WorkerSettings, labels: Prediction) -> str | None:
    """Return a warning if `--comments` has no effect with the model of these labels, else None."""
    if not settings.comments_are_told_apart or labels.comments is not None:
        return None
    comments, model = settings.options.comments, labels.model.name
    return f"--comments {comments} has no effect: {model} does not tell user comments apart"
