"""What a model says of pages: predict."""

import asyncio
import sys
from pathlib import Path

import click

from dehusk.inference.onnx import OnnxLabeler
from dehusk.inference.signature import TOKENS
from dehusk.streams.cli.standard_input import abandoned_on_errors
from dehusk.streams.models.names import split_name
from dehusk.training.cli.options import FILE, repository_option
from dehusk.training.predict import write_predictions


@click.command("predict")
@repository_option
@click.argument("model")
@click.argument("file", type=FILE)
def predict_command(repository: Path, model: str, file: Path) -> None:
    """Label the pages in FILE with MODEL, a `name` or `name/version` of the repository.

    FILE has JSON lines, plain or compressed. Pages cut into blocks (id, blocks: path, text) give lines
    {"id", "labels"}: 1 for content, 0 for boilerplate, also for blocks without text; for a model that reads
    elements, the page is rebuilt from them. Pages of HTML (id, url, html) give lines {"id", "text"}; where a
    page cannot be cleaned, no text, and standard error says why.
    """
    name, version = split_name(model)
    labeler = OnnxLabeler(name, version, repository)
    with abandoned_on_errors():
        rebuild = labeler.signature is not TOKENS
        asyncio.run(write_predictions(file, labeler, sys.stdout.buffer, rebuild=rebuild))
