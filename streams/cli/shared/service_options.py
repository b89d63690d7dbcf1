"""Options of the services that label pages and know their sites: Triton and its models, Redis."""

from pathlib import Path
from typing import Any

import click

from dehusk.inference.labelers.labeler import LABELERS, LOCAL_LABELERS
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.streams.cli.shared.options import (
    FILE,
    FOLDER,
    Address,
    Option,
    Url,
    gathered_options,
    refuse_typed,
    require_both,
    seconds_option,
    with_options,
)
from dehusk.streams.settings import RedisSettings, TritonSettings


def redis_options(
    *,
    help: str,  # noqa: A002 click's
    seconds_help: str = "Time limit of Redis for a batch of pages, after which it counts as unavailable.",
) -> Option:
    """Return options of a Redis and its security, which reach the command as `redis: RedisSettings`."""
    return with_options(redis_option(help), redis_client_options(seconds_help=seconds_help))


def redis_option(help: str) -> Option:  # noqa: A002 click's
    """Return the option of a Redis' URL."""
    return click.option(
        "--redis",
        type=Url("redis", "rediss", "unix"),
        metavar="URL",
        default=RedisSettings().url,
        show_default=True,
        help=help,
    )


def redis_client_options(*, seconds_help: str) -> Option:
    """Return options of a Redis client, which reach the command as `redis: RedisSettings`.

    The command has the URL as `redis` or `site_statistics`.
    """
    return gathered_options(
        "redis",
        _redis_settings,
        seconds_option("--redis-seconds", least=0.1, default=RedisSettings().timeout, help=seconds_help),
        click.option("--redis-cluster", is_flag=True, help="The URL is one of a Redis Cluster."),
        click.option(
            "--redis-ca-file",
            type=FILE,
            help="PEM file of the authorities that signed Redis' certificate, for a rediss:// URL; the "
            "system's by default.",
        ),
        click.option(
            "--redis-certificate-file",
            type=FILE,
            help="PEM file of the client's certificate, where Redis asks for one.",
        ),
        click.option("--redis-key-file", type=FILE, help="PEM file of the key of --redis-certificate-file."),
    )


def _redis_settings(
    *,
    redis: str = "",
    site_statistics: str | None = None,
    redis_seconds: float,
    redis_cluster: bool,
    redis_ca_file: Path | None,
    redis_certificate_file: Path | None,
    redis_key_file: Path | None,
) -> RedisSettings:
    url = redis or site_statistics or RedisSettings().url
    files = (redis_ca_file, redis_certificate_file, redis_key_file)
    require_both("redis", redis_certificate_file, redis_key_file)
    if (redis_ca_file or redis_certificate_file) and not url.startswith("rediss://"):
        name = "redis" if redis else "site-statistics"
        raise click.UsageError(f"--redis-…-file options need a --{name} URL that begins with rediss://")
    return RedisSettings(url, redis_cluster, redis_seconds, *files)


def triton_settings(
    *,
    triton: str | None,
    model: str,
    model_version: str,
    triton_seconds: float = TritonSettings().timeout,
) -> TritonSettings:
    """Return the settings of Triton and its model, from the options of both."""
    return TritonSettings(triton or TritonSettings().address, model, model_version, triton_seconds)


def labeler_option(*, default: str | None, help: str, **settings: Any) -> Option:  # noqa: A002, ANN401 click's
    """Return an option that takes one of the labelers."""
    return click.option(
        "--labeler",
        type=click.Choice(LABELERS),
        default=default,
        show_default=True,
        help=help,
        **settings,
    )


def triton_option(
    default: str | None = TritonSettings().address,
    help: str = "gRPC address of the Triton server.",  # noqa: A002 click's
) -> Option:
    """Return the option of Triton's address; without a default, of a Triton that need not be there."""
    return click.option(
        "--triton",
        type=Address(),
        metavar="HOST:PORT",
        default=default,
        show_default=True,
        help=help,
    )


def repository_option(*names: str, help: str, shown: str | None = None) -> Option:  # noqa: A002 click's
    """Return the option of the models' directory, whose help shows `shown` as its default."""
    return click.option(
        "--model-repository",
        *names,
        type=FOLDER,
        metavar="DIR",
        default=DEFAULT_REPOSITORY,
        show_default=shown,
        help=help,
    )


def model_option(help: str = "The model in the repository.") -> Option:  # noqa: A002 click's
    """Return the option of a model's name."""
    return click.option(
        "--model", metavar="NAME", default=TritonSettings().model, show_default=True, help=help
    )


model_options = with_options(
    model_option(),
    click.option(
        "--model-version",
        metavar="NUMBER",
        default=TritonSettings().version,
        help="Stay with this version; by default the trusted one: trusted_version in the model's "
        "config.pbtxt, or else the newest that its version_policy serves. With Triton that may be swapped "
        "meanwhile.",
    ),
)
"""Options of a model: `model` and `model_version`."""


def labeler_options(*, when: str = "", repository_help: str) -> Option:
    """Return the options of a command that runs the model itself unless a Triton server is named.

    They reach the command as `labeler`, `triton` (TritonSettings) and `model_repository`. `when` is a part of
    the help: when that labeler labels.
    """
    return gathered_options(
        "triton",
        triton_settings,
        gathered_options(
            "labeler",
            _labeler,
            labeler_option(
                default=None,
                help=f"Labeler of the blocks{when}: the model in this process (onnx, the "
                "default), on a Triton server (the default with --triton), or one without a model, as "
                "Boilerpipe's rules.",
            ),
        ),
        triton_option(default=None),
        repository_option(help=repository_help),
        model_options,
    )


def _labeler(*, labeler: str | None, triton: str | None) -> str:
    labeler = labeler or ("triton" if triton else "onnx")
    require_labeler_of_triton(labeler)
    return labeler


def require_labeler_of_triton(labeler: str) -> None:
    """Check that a labeler asks the Triton server that the command line names.

    Raises:
        click.UsageError: it asks none.
    """
    if labeler != "triton":
        refuse_typed(f"--labeler triton, not {labeler}", "triton")


def require_labeler_of_model(labeler: str) -> None:
    """Check that a labeler asks the server and runs the model that the command line names.

    Raises:
        click.UsageError: it asks none, or runs none.
    """
    require_labeler_of_triton(labeler)
    if labeler != "onnx":
        refuse_typed(f"--labeler onnx, not {labeler}", "model_repository")
    if labeler in LOCAL_LABELERS:
        refuse_typed(f"--labeler triton or onnx, not {labeler}", "model", "model_version")
