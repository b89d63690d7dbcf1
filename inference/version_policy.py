"""Which versions of a model are served, by the field `version_policy` of its `config.pbtxt`."""

import re
from collections.abc import Sequence

_POLICY = re.compile(
    r"^[ \t]*version_policy\s*:?\s*\{(?P<choice>[^{}]*\{[^{}]*\})?(?:\s|#.*\n)*\}", re.MULTILINE
)
_CHOICE = re.compile(r"(?P<kind>latest|all|specific)\s*:?\s*\{(?P<inside>[^{}]*)\}")
_COMMENT = re.compile(r"#.*")
_NUMBER = re.compile(r"\d+")


def served_versions(config: str, versions: Sequence[str]) -> list[str]:
    """Those of a model's versions, oldest first, that Triton serves by its policy; by default the newest."""
    choice = _choice(config)
    if choice is None:
        return [*versions[-1:]]
    numbers = _NUMBER.findall(choice["inside"])
    match choice["kind"]:
        case "specific":
            return [version for version in versions if version in numbers]
        case "latest":
            return [*versions[-int(numbers[0] if numbers else 1) :]]
        case _:
            return [*versions]


def names_versions(config: str) -> bool:
    """Whether the policy is `specific`, so that further versions wait until it names them."""
    choice = _choice(config)
    return choice is not None and choice["kind"] == "specific"


def with_versions(config: str, versions: Sequence[str]) -> str:
    """The configuration with a policy that serves these versions, and no newer one before it is named."""
    wanted = ", ".join(sorted(versions, key=int))
    policy = f"version_policy {{ specific {{ versions: [ {wanted} ] }} }}"
    if _POLICY.search(config):
        return _POLICY.sub(policy, config, count=1)
    return f"{config.rstrip()}\n{policy}\n"


def _choice(config: str) -> re.Match[str] | None:
    policy = _POLICY.search(config)
    return _CHOICE.search(_COMMENT.sub("", policy["choice"] or "")) if policy else None
