"""Whether user comments are told apart, where the command line says what becomes of them."""

from dehusk.schemas.pages import Prediction
from dehusk.streams.worker.settings import WorkerSettings


def comments_advice(settings: WorkerSettings, labels: Prediction) -> str | None:
    """What to say of a labeler that gave these labels; None where nothing is to be said."""
    if not settings.comments_are_told_apart or labels.comments is not None:
        return None
    return (
        f"--comments {settings.comments} has no effect: {labels.model.name} does not tell user comments apart"
    )
