"""`dehusk --version`: dehusk's own version, and those of what decides the text of a document."""

import platform
from importlib.metadata import version

import click

from dehusk.inference.repository import DEFAULT_REPOSITORY, find_model
from dehusk.streams.settings import TritonSettings


def version_option(command: click.decorators.FC) -> click.decorators.FC:
    """The option `--version`."""
    return click.option(
        "--version",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show,
        help="Show the versions of dehusk, its model, its parser and its runtimes, and exit.",
    )(command)


def _show(context: click.Context, _option: click.Parameter, value: bool) -> None:
    if value:
        model, _ = find_model(DEFAULT_REPOSITORY, TritonSettings().model)
        runs_on = {"selectolax": version("selectolax"), "ONNX Runtime": version("onnxruntime")}
        parts = {"model": f"{model.name}/{model.version}", **runs_on, "Python": platform.python_version()}
        said = ", ".join(f"{name} {number}" for name, number in parts.items())
        click.echo(f"dehusk {version('dehusk')} ({said})")
        context.exit()
