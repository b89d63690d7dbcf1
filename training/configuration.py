"""The configuration of a training run: a small TOML file, whose `kind` says which model it is for."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from dehusk.schemas.errors import ConfigurationError

Config = TypeVar("Config")
Tables = dict[str, Any]


def read_tables(file: Path, make: Callable[[Tables], Config]) -> Config:
    """What is made of the tables of a TOML file, which has all settings that it needs, and no other.

    Raises:
        ConfigurationError: the file has a setting too few or too many.
    """
    try:
        return make(tomllib.loads(file.read_text(encoding="utf-8")))
    except (KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{file} is no training configuration: {error}") from error
