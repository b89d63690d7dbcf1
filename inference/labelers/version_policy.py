"""The versions of a model that Triton serves by its `config.pbtxt`, and the trusted one among them.

The field `version_policy` names the versions, and the parameter `trusted_version` the one that labels for all
who name none. Triton gives its parameters to clients, and has no use of its own for this one.

Triton's own messages load gRPC, which takes longer than a model. So these fields alone are declared here, as
in `model_config.proto`, and found among the others, which may be newer than any declaration.
"""

import re
from collections.abc import Sequence
from typing import Any

from google.protobuf import text_format

from dehusk.inference.labelers.protobuf import message_class
from dehusk.inference.labelers.signature import TRUSTED_KEY
from dehusk.schemas.errors import ConfigurationError

_DECLARATIONS = """
    name: "dehusk/version_policy.proto"  package: "dehusk"  syntax: "proto3"
    message_type {
      name: "Latest"
      field { name: "num_versions"  number: 1  type: TYPE_UINT32 }
    }
    message_type { name: "All" }
    message_type {
      name: "Specific"
      field { name: "versions"  number: 1  label: LABEL_REPEATED  type: TYPE_INT64 }
    }
    message_type {
      name: "VersionPolicy"
      field { name: "latest"  number: 1  type_name: ".dehusk.Latest"  oneof_index: 0 }
      field { name: "all"  number: 2  type_name: ".dehusk.All"  oneof_index: 0 }
      field { name: "specific"  number: 3  type_name: ".dehusk.Specific"  oneof_index: 0 }
      oneof_decl { name: "policy_choice" }
    }
    message_type {
      name: "Parameter"
      field { name: "string_value"  number: 1  type: TYPE_STRING }
    }
    message_type {
      name: "Entry"
      field { name: "key"  number: 1  type: TYPE_STRING }
      field { name: "value"  number: 2  type_name: ".dehusk.Parameter" }
    }
    message_type {
      name: "ModelConfig"
      field { name: "version_policy"  number: 3  type_name: ".dehusk.VersionPolicy" }
      field { name: "parameters"  number: 14  label: LABEL_REPEATED  type_name: ".dehusk.Entry" }
    }
"""
_Place = tuple[int, int]
"""Begin and end of a field in the text of a configuration."""
_POLICY, _PARAMETERS = "version_policy", "parameters"
_TOKEN = re.compile(r"""#.*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[{}<>\[\]]|\w+""")
"""Comment, string, bracket or word of a configuration."""


_ModelConfig = message_class(_DECLARATIONS, "dehusk.ModelConfig")


def served_versions(config: str, versions: Sequence[str]) -> list[str]:
    """Return those of a model's versions, oldest first, that its policy serves; by default the newest.

    Raises:
        ConfigurationError: the policy cannot be read.
    """
    policy = _policy(config)
    match policy.WhichOneof("policy_choice"):
        case "specific":
            named = set(policy.specific.versions)
            return [version for version in versions if int(version) in named]
        case "latest":
            return [*versions[-(policy.latest.num_versions or 1) :]]
        case "all":
            return [*versions]
        case _:
            return [*versions[-1:]]


def names_versions(config: str) -> bool:
    """Return True if the policy of a configuration names versions, so that further ones wait.

    Raises:
        ConfigurationError: the policy cannot be read.
    """
    return bool(_policy(config).WhichOneof("policy_choice") == "specific")


def trusted_version(config: str, served: Sequence[str]) -> str:
    """Return the trusted one of the versions that are served, oldest first; empty where none is served.

    It is the one that the configuration names or, where that is none of them, the newest.

    Raises:
        ConfigurationError: the parameters cannot be read.
    """
    named = named_trusted(config)
    return named if named in served else "".join(served[-1:])


def named_trusted(config: str) -> str:
    """Return the version that a configuration names as the trusted one; empty where it names none.

    Raises:
        ConfigurationError: the parameters cannot be read.
    """
    named = [value for key, value in _parameters(config, _places(config, _PARAMETERS)) if key == TRUSTED_KEY]
    return "".join(named[-1:])


def with_versions(config: str, versions: Sequence[str], trusted: str = "") -> str:
    """Return the configuration with a policy that serves these versions, and no newer one until it is named.

    With `trusted`, it names that one as the trusted version. All else stays as it is written, with its
    comments.

    Raises:
        ConfigurationError: its policy or parameters cannot be read.
    """
    wanted = sorted(map(int, versions))
    policy = f"{_POLICY} {{ specific {{ versions: [ {', '.join(map(str, wanted))} ] }} }}"
    _policy(config)
    places = _places(config, _POLICY)
    if places:
        ((begin, end),) = places
        config = f"{config[:begin]}{policy}{config[end:]}"
    else:
        config = f"{config.rstrip()}\n{policy}\n"
    return _with_trusted(config, trusted) if trusted else config


def _with_trusted(config: str, version: str) -> str:
    """Return the configuration with the entry of the trusted version as its last parameter, which counts."""
    entry = f'{_PARAMETERS} {{ key: "{TRUSTED_KEY}" value: {{ string_value: "{version}" }} }}'
    places = _places(config, _PARAMETERS)
    if [key for key, _ in _parameters(config, places[-1:])] == [TRUSTED_KEY]:
        begin, end = places[-1]
        return f"{config[:begin]}{entry}{config[end:]}"
    return f"{config.rstrip()}\n{entry}\n"


def _policy(config: str) -> Any:  # noqa: ANN401 see above
    return _parsed(config, _places(config, _POLICY), _POLICY).version_policy


def _parameters(config: str, places: Sequence[_Place]) -> list[tuple[str, str]]:
    """Return keys and values of parameters, of which the last one of a key counts."""
    found = _parsed(config, places, _PARAMETERS).parameters
    return [(each.key, each.value.string_value) for each in found]


def _parsed(config: str, places: Sequence[_Place], name: str) -> Any:  # noqa: ANN401 see above
    text = "\n".join(config[begin:end] for begin, end in places)
    try:
        return text_format.Parse(text, _ModelConfig(), allow_unknown_field=name == _PARAMETERS)
    except (text_format.ParseError, RecursionError) as error:
        raise ConfigurationError(f"{name} cannot be read: {error}") from error


def _places(config: str, name: str) -> list[_Place]:
    """Return the place of each field of a name in a configuration."""
    found: list[_Place] = []
    begin, depth = -1, 0
    for token in _TOKEN.finditer(config):
        if token[0] in "{<[":
            depth += 1
        elif token[0] in "}>]":
            depth -= 1
            if begin >= 0 and depth == 0:
                found.append((begin, token.end()))
                begin = -1
        elif token[0] == name and depth == 0:
            begin = token.start()
    return found if begin < 0 else [*found, (begin, len(config))]
