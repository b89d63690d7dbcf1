"""Options of commands of `dehusk model`: places of versions, their checks, and changes of roll-outs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from sys import float_info
from typing import Any

import click

from dehusk.inference.labelers.labeler import LOCAL_LABELERS
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import MAX_COUNT, Limits, Scope
from dehusk.streams.cli.shared.kafka_options import group_option, kafka_options, optional_topic_option
from dehusk.streams.cli.shared.options import (
    NumberRange,
    Option,
    gathered_options,
    json_option,
    seconds_option,
    yes_option,
)
from dehusk.streams.cli.shared.service_options import (
    labeler_option,
    model_option,
    repository_option,
    triton_option,
)
from dehusk.streams.models.names import MAX_LATENCY, check_model, split_name
from dehusk.streams.settings import CONTROL_TOPIC, ControlTopic, KafkaSettings, TritonSettings

NOT_TO_BE_SERVED = 3
"""Exit status where a version is not to be served; 1 is for other errors."""

stored_versions_option = repository_option(
    "--repository",
    "repository",
    help="The model repository: the directory that Triton serves.",
    shown="the one that comes with dehusk",
)
workers_option = group_option("The consumer group of the workers; each group is moved alone.")


def _without_triton_option(help: str) -> Option:  # noqa: A002 click's
    return click.option("--without-triton", is_flag=True, help=help)


_LIMITS = {each.name.replace("_", "-"): each.name for each in fields(Limits)}


def _model_name(_context: click.Context, _parameter: click.Parameter, name: str) -> tuple[str, str]:
    try:
        return check_model(name), ""
    except ConfigurationError as error:
        raise click.BadParameter(f"{error}; the model alone, such as dehusk") from error


def _version_name(_context: click.Context, _parameter: click.Parameter, name: str) -> tuple[str, str]:
    try:
        model, version = split_name(name)
    except ConfigurationError as error:
        raise click.BadParameter(str(error)) from error
    if not version:
        example = f"{TritonSettings().model}/{name}" if name.isdecimal() else f"{name}/8"
        raise click.BadParameter(f"name the version, such as {example}")
    return model, version


def _limits(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """Return the limits that are named, by their fields."""
    limits: dict[str, Any] = {}
    for text in given:
        name, _, value = text.partition("=")
        if name not in _LIMITS:
            raise click.BadParameter(f"{name!r} is none of: {', '.join(_LIMITS)}")
        kind = type(getattr(Limits(), _LIMITS[name]))
        try:
            limits[_LIMITS[name]] = kind(value)
        except ValueError as error:
            raise click.BadParameter(f"{value!r} is no number for {name}") from error
        minimum, maximum = (1, MAX_COUNT) if kind is int else (0, float_info.max)
        if not minimum <= limits[_LIMITS[name]] <= maximum:
            unit = f" and below {maximum:,}" if kind is int else ""
            raise click.BadParameter(
                f"{value} is no finite number from {minimum} on{unit}, as {name} has to be"
            )
    return limits


_MODEL = click.argument("name", metavar="MODEL", callback=_model_name)
_VERSION = click.argument("name", metavar="MODEL/VERSION", callback=_version_name)
_CONTROL = optional_topic_option(
    "--control-topic", default=CONTROL_TOPIC, help="The topic that the workers follow."
)
_TARGET = (kafka_options, _CONTROL, workers_option, json_option())
place_options = (
    triton_option(),
    _without_triton_option(
        "Ask no Triton: the workers of the group run the model themselves (--labeler onnx)."
    ),
    stored_versions_option,
)
_LIMIT = click.option(
    "--limit",
    "limits",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_limits,
    help="Limit beyond which workers go back by themselves, e.g. --limit most-errors=0.05; others stay "
    f"as they are. Names: {', '.join(_LIMITS)}.",
)
_CHANGE = (
    yes_option,
    click.option("--dry-run", is_flag=True, help="Say what would be changed, and change nothing."),
    click.option("--wait", is_flag=True, help="Wait until all workers follow, and say how long that took."),
    seconds_option(
        "--wait-seconds", least=1.0, default=60.0, help="Time limit for workers to follow a state."
    ),
)


class Share(NumberRange):
    """A share, as `0.05` or `5%`; none is no share."""

    name = "share"

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True, max=1)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share as a number up to 1."""
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            self.fail(f"{text!r} is no share, such as 10% or 0.1", param, ctx)
        return super().convert(share, param, ctx)


def share_option(unit: str) -> Option:
    """Return the option of the share of something that a version is tried on."""
    return click.option("--share", type=Share(), required=True, help=f"Share of the {unit}, e.g. 0.05 or 5%.")


class Shares(click.ParamType):
    """Growing shares of the sites, as `1%,10%,0.5`."""

    name = "shares"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Return the shares."""
        if isinstance(value, tuple):
            return value
        shares = tuple(Share().convert(text, param, ctx) for text in str(value).split(","))
        if not all(before < after for before, after in pairwise((0.0, *shares, 1.0))):
            self.fail(
                f"{value!r}: each share has to be larger than the one before, and below all", param, ctx
            )
        return shares


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d{1,6})([smhd])", re.ASCII)


class Duration(click.ParamType):
    """Time as a whole number of seconds, minutes, hours or days, as `10m`."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the time in seconds."""
        if isinstance(value, float):
            return value
        matched = _DURATION.fullmatch(str(value))
        if matched is None:
            self.fail(f"{value!r} is no time such as 90s, 10m, 2h or 1d", param, ctx)
        return int(matched[1]) * _UNITS[matched[2]]


reason_option = click.option("--reason", help="Reason, for those who ask later.")


@dataclass(frozen=True, slots=True)
class RolloutOptions:
    """Options of a command for a roll-out; those from `yes` on are of commands that change it."""

    name: tuple[str, str]
    """Model and version; an empty version where the command names none."""
    kafka: KafkaSettings
    control_topic: str
    group: str
    as_json: bool
    yes: bool = False
    dry_run: bool = False
    wait: bool = False
    wait_seconds: float = 0.0
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Limits that the change sets, by their fields."""
    triton: str = ""
    without_triton: bool = True
    """True if Triton is not asked to serve anything."""
    repository: Path = DEFAULT_REPOSITORY

    @property
    def control(self) -> ControlTopic:
        """Topic of the roll-out."""
        return ControlTopic(self.kafka, self.control_topic)

    @property
    def scope(self) -> Scope:
        """Model and group of the roll-out."""
        return Scope(self.name[0], self.group)

    @property
    def version(self) -> str:
        """Version that the command names."""
        return self.name[1]


@dataclass(frozen=True, slots=True)
class Sources:
    """Sources of what is known of versions: Triton, a repository, and roll-outs."""

    triton: str
    without_triton: bool
    repository: Path
    control_topic: str | None
    kafka: KafkaSettings

    @property
    def control(self) -> ControlTopic | None:
        """Topic of the roll-outs; None if none is named."""
        return ControlTopic(self.kafka, self.control_topic) if self.control_topic else None


def source_options(topic_help: str, *others: Option) -> Option:
    """Return a decorator that adds options, others among them; those of sources are the value `sources`."""
    places = (
        triton_option(),
        _without_triton_option("Ask no Triton: look at the disk alone."),
        stored_versions_option,
    )
    topic = optional_topic_option("--control-topic", help=topic_help)
    return gathered_options("sources", Sources, *places, topic, *others, kafka_options)


rollout_options = gathered_options("options", RolloutOptions, _MODEL, *_TARGET)
"""MODEL and the options of its roll-out."""
status_options = gathered_options("options", RolloutOptions, _MODEL, *_TARGET, stored_versions_option)
"""Those and the repository."""


def change_options(*others: Option) -> Option:
    """Return a decorator that adds MODEL and the options of a change, others among them."""
    return gathered_options("options", RolloutOptions, _MODEL, *_TARGET, *others, *_CHANGE)


def version_options(*others: Option) -> Option:
    """Return a decorator that adds MODEL/VERSION and the options of a change, others among them."""
    return gathered_options(
        "options", RolloutOptions, _VERSION, *_TARGET, *place_options, *others, _LIMIT, *_CHANGE
    )


def _require_versions(_context: click.Context, _option: click.Parameter, labeler: str) -> str:
    """Return a labeler that has versions."""
    if labeler in LOCAL_LABELERS:
        raise click.BadParameter(f"{labeler} has no versions; triton or onnx")
    return labeler


@dataclass(frozen=True, slots=True)
class Checks:
    """Options of the checks of a version."""

    labeler: str
    triton: str
    repository: Path
    model: str
    timeout: float
    most_latency: float


check_options = gathered_options(
    "checks",
    Checks,
    labeler_option(
        metavar="[triton|onnx]",
        default="triton",
        callback=_require_versions,
        help="Runtime of the check: the Triton server, with the version under another name and from memory, "
        "or a process of this command, in which it runs as in a worker with `onnx`.",
    ),
    triton_option(),
    stored_versions_option,
    model_option("The model that the version is of."),
    seconds_option(
        "--timeout", least=0.1, default=60.0, help="Time limit of a load, and of the answer to a page."
    ),
    click.option(
        "--most-latency",
        type=NumberRange(min=0, min_open=True),
        metavar="FACTOR",
        default=MAX_LATENCY,
        show_default=True,
        help="Largest median latency of a page, as a multiple of the default version's.",
    ),
)
