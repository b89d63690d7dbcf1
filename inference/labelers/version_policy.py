"""The field `version_policy` of a model's `config.pbtxt`: the versions that Triton serves.

Triton's own messages load gRPC, which takes longer than a model. So this field alone is declared here, as in
`model_config.proto`, and found among the others, which may be newer than any declaration.
"""

import re
from collections.abc import Sequence
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

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
      name: "ModelConfig"
      field { name: "version_policy"  number: 3  type_name: ".dehusk.VersionPolicy" }
    }
"""
_TOKEN = re.compile(r"""#.*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[{}<>\[\]]|\w+""")
"""Comment, string, bracket or word of a configuration."""


def _message() -> Any:  # noqa: ANN401 protobuf's messages have no types
    """Return the class of a configuration that has this field alone."""
    declarations = text_format.Parse(_DECLARATIONS, descriptor_pb2.FileDescriptorProto())
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(declarations.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("dehusk.ModelConfig"))


_ModelConfig = _message()


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


def with_versions(config: str, versions: Sequence[str]) -> str:
    """Return the configuration with a policy that serves these versions, and no newer one until it is named.

    All else stays as it is written, with its comments.

    Raises:
        ConfigurationError: its policy cannot be read.
    """
    wanted = sorted(map(int, versions))
    policy = f"version_policy {{ specific {{ versions: [ {', '.join(map(str, wanted))} ] }} }}"
    fields = _fields(config)
    if not fields:
        return f"{config.rstrip()}\n{policy}\n"
    _policy(config)
    ((begin, end),) = fields
    return f"{config[:begin]}{policy}{config[end:]}"


def _policy(config: str) -> Any:  # noqa: ANN401 see above
    text = "\n".join(config[begin:end] for begin, end in _fields(config))
    try:
        return text_format.Parse(text, _ModelConfig()).version_policy
    except text_format.ParseError as error:
        raise ConfigurationError(f"version_policy cannot be read: {error}") from error


def _fields(config: str) -> list[tuple[int, int]]:
    """Return the place of each `version_policy` in a configuration, which may have one."""
    found: list[tuple[int, int]] = []
    begin, depth = -1, 0
    for token in _TOKEN.finditer(config):
        if token[0] in "{<[":
            depth += 1
        elif token[0] in "}>]":
            depth -= 1
            if begin >= 0 and depth == 0:
                found.append((begin, token.end()))
                begin = -1
        elif token[0] == "version_policy" and depth == 0:
            begin = token.start()
    return found if begin < 0 else [*found, (begin, len(config))]
