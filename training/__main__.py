"""`python -m training`: from labeled pages to a version of the model repository, and its labels."""

import click

from dehusk.schemas.errors import DehuskError
from dehusk.training.cli.comparing import compare_command, predict_command
from dehusk.training.cli.models import (
    cross_validate_command,
    evaluate_command,
    export_command,
    fine_tune_command,
    prepare_command,
    signal_group,
    teach_command,
    train_command,
    try_fine_tuning_command,
    vectors_command,
)
from dehusk.training.cli.options import OrderOfUse

_WHERE_INSTALLED = {
    **dict.fromkeys(
        ("lightgbm", "onnx", "scipy", "sklearn", "torch"),
        ".venv-training has it (make setup-training makes it)",
    ),
    **dict.fromkeys(
        ("justext", "matplotlib", "readability", "resiliparse", "trafilatura"),
        ".venv has it (make setup makes it)",
    ),
    **dict.fromkeys(("magic_html", "rs_trafilatura"), "docs/how-to/training.md says how to have it"),
}
"""Packages that training, teaching or comparing needs and serving does not, and the environment of each."""


@click.group(cls=OrderOfUse, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Train the models that label blocks, label with them: predict, and compare what labels blocks."""


for _command in (
    teach_command,
    prepare_command,
    train_command,
    cross_validate_command,
    evaluate_command,
    export_command,
    fine_tune_command,
    try_fine_tuning_command,
    signal_group,
    vectors_command,
    predict_command,
    compare_command,
):
    cli.add_command(_command)


def main() -> None:
    """Run the command line; errors that dehusk raises on purpose end with their message and status 1."""
    try:
        cli()
    except DehuskError as error:
        raise SystemExit(f"Error: {error}") from error
    except OSError as error:
        if error.filename is None:
            raise
        raise SystemExit(f"Error: {error.filename}: {error.strerror}") from error
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _WHERE_INSTALLED:
            raise
        raise SystemExit(f"Error: {package} is not installed here; {_WHERE_INSTALLED[package]}") from error


if __name__ == "__main__":
    main()
