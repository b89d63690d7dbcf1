"""The names of models and their versions, as `MODEL` and `MODEL/VERSION`."""

import re

from dehusk.schemas.errors import ConfigurationError

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_VERSION = re.compile(r"[1-9][0-9]{0,17}")


def split_name(name: str) -> tuple[str, str]:
    """The model and the version that a name names; an empty version where it names none.

    Raises:
        ConfigurationError: it is no name.
    """
    model, slash, version = name.partition("/")
    return check_model(model), check_version(version) if slash else ""


def check_model(model: str) -> str:
    """The model's name, if it can be a directory of a repository.

    Raises:
        ConfigurationError: it cannot.
    """
    if not _MODEL.fullmatch(model):
        raise ConfigurationError(f"{model!r} is no name of a model: letters, digits, '.', '_' and '-'")
    return model


def check_version(version: str) -> str:
    """The version, if Triton takes its directory for one.

    Raises:
        ConfigurationError: it does not.
    """
    if not _VERSION.fullmatch(version):
        raise ConfigurationError(f"{version!r} is no version: a number without zeros in front")
    return version
