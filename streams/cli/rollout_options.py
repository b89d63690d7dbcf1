"""The options of the commands that change a roll-out: which one it is, where its versions are, its limits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from math import inf
from pathlib import Path
from typing import Any

import click

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import Limits, Scope
from dehusk.streams.cli.model_options import (
    control_topic_option,
    group_option,
    json_option,
    repository_option,
    triton_option,
    without_triton_option,
    yes_option,
)
from dehusk.streams.cli.options import kafka_options, seconds_option
from dehusk.streams.cli.values import NumberRange
from dehusk.streams.models.names import check_model, split_name
from dehusk.streams.settings import CONTROL_TOPIC, KafkaSettings

Command = Callable[..., None]
_LIMITS = {each.name.replace("_", "-"): each.name for each in fields(Limits)}


def _model_name(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    """The name of a model."""
    try:
        return check_model(name)
    except ConfigurationError as error:
        raise click.BadParameter(f"{error}; the model alone, such as dehusk") from error


def _version_name(_context: click.Context, _parameter: click.Parameter, name: str) -> tuple[str, str]:
    """A model and one of its versions."""
    try:
        model, version = split_name(name)
    except ConfigurationError as error:
        raise click.BadParameter(str(error)) from error
    if not version:
        raise click.BadParameter(f"name the version, such as {name}/8")
    return model, version


_MODEL = click.argument("model", metavar="MODEL", callback=_model_name)
_VERSION = click.argument("name", metavar="MODEL/VERSION", callback=_version_name)
_WHERE = (
    kafka_options,
    control_topic_option(CONTROL_TOPIC),
    group_option,
    json_option,
)
_PLACE = (
    triton_option,
    without_triton_option(
        "Ask no Triton: the workers of the group run the model themselves (--labeler onnx)."
    ),
    repository_option,
)
_MOVING = (
    yes_option,
    click.option("--wait", is_flag=True, help="Wait until all workers follow, and say how long that took."),
    seconds_option(
        "--wait-seconds", least=1.0, default=60.0, help="How long workers may take to follow a state."
    ),
)


@dataclass(frozen=True, slots=True)
class Where:
    """Which roll-out a command is about, and how it goes about it."""

    kafka: KafkaSettings
    topic: str
    scope: Scope
    as_json: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where the versions are served that a change names."""

    triton: str
    repository: Path


def _limits(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """The limits that are named, by their fields."""
    found: dict[str, Any] = {}
    for each in given:
        name, _, value = each.partition("=")
        if name not in _LIMITS:
            raise click.BadParameter(f"{name!r} is none of: {', '.join(_LIMITS)}")
        kind = type(getattr(Limits(), _LIMITS[name]))
        try:
            found[_LIMITS[name]] = kind(value)
        except ValueError as error:
            raise click.BadParameter(f"{value!r} is no number for {name}") from error
        least = 1 if kind is int else 0
        if not least <= found[_LIMITS[name]] < inf:
            raise click.BadParameter(f"{value} is no finite number from {least} on, as {name} has to be")
    return found


def of_rollout(command: Command) -> Command:
    """MODEL and the options that say which roll-out is meant, which reach the command as `where`."""

    @wraps(command)
    def with_where(
        *, kafka: KafkaSettings, control_topic: str, model: str, group: str, as_json: bool, **others: object
    ) -> None:
        command(where=Where(kafka, control_topic, Scope(model, group), as_json), **others)

    return _with(with_where, (_MODEL, *_WHERE))


def of_version(command: Command) -> Command:
    """MODEL/VERSION and the options of a move, which reach the command as `where`, `version` and `place`."""

    @wraps(command)
    def with_version(
        *,
        kafka: KafkaSettings,
        control_topic: str,
        name: tuple[str, str],
        group: str,
        as_json: bool,
        triton: str,
        without_triton: bool,
        repository: Path,
        **others: object,
    ) -> None:
        model, version = name
        where = Where(kafka, control_topic, Scope(model, group), as_json)
        place = None if without_triton else Place(triton, repository)
        command(where=where, version=version, place=place, **others)

    return _with(with_version, (_VERSION, *_WHERE, *_PLACE))


def moving_options(command: Command) -> Command:
    """The options of a change."""
    return _with(command, _MOVING)


def _with(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def limit_option(command: Command) -> Command:
    """The limits that a change sets, as `limits`."""
    option = click.option(
        "--limit",
        "limits",
        metavar="NAME=VALUE",
        multiple=True,
        callback=_limits,
        help="Beyond which workers go back by themselves, e.g. --limit most-errors=0.05; others stay as they "
        f"are. Names: {', '.join(_LIMITS)}.",
    )
    return option(command)


def share_option(what: str) -> Callable[[Command], Command]:
    """The share of what a version is tried on, as `share`."""
    return click.option(
        "--share",
        type=NumberRange(min=0, min_open=True, max=1),
        required=True,
        help=f"Of the {what}, e.g. 0.05.",
    )
