"""Check of the dashboards by Grafana's own schema: its types, which it generates from its CUE kinds.

`make dashboards` installs them and runs this. Each field has to be one that Grafana knows at its place, and
its value one that the schema allows; the status is 1 if any is not.
"""

import json
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

_FOLDER = Path(__file__).with_name("dashboards")


def find_unknown(given: object, known: object, place: str = "") -> Iterator[str]:
    """Yield the places of what Grafana's types do not hold of a dashboard."""
    if isinstance(given, dict) and isinstance(known, dict):
        for name, value in given.items():
            yield from find_unknown(value, known.get(name), f"{place}.{name}")
    elif isinstance(given, list) and isinstance(known, list) and len(given) == len(known):
        for number, (value, kept) in enumerate(zip(given, known, strict=True)):
            yield from find_unknown(value, kept, f"{place}[{number}]")
    elif given != known:
        yield f"{place} is not in Grafana's schema"


def find_wrong_values(value: object, place: str = "") -> Iterator[str]:
    """Yield the places of values that are none of those that the schema lists."""
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from find_wrong_values(each, f"{place}[{number}]")
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from find_wrong_values(each, f"{place}.{name}")
    elif type(value).__module__.startswith("grafana_foundation_sdk"):
        for name, hint in get_type_hints(type(value)).items():
            each = getattr(value, name)
            yield from _wrong_value(each, hint, f"{place}.{name}")
            yield from find_wrong_values(each, f"{place}.{name}")


def _wrong_value(value: object, hint: Any, place: str) -> Iterator[str]:  # noqa: ANN401 a hint of any kind
    """Yield the place of a value if it is of an enumeration, and none of it."""
    kinds = [each for each in (hint, *get_args(hint)) if isinstance(each, type)]
    allowed = [each.value for kind in kinds if issubclass(kind, Enum) for each in kind]
    if allowed and isinstance(value, str | int) and value not in allowed:
        yield f"{place} is {value!r}, and not one of {', '.join(map(str, allowed))}"


def main() -> int:
    """Check all dashboards; return the exit status."""
    register_default_plugins()
    found = 0
    for file in sorted(_FOLDER.glob("*.json")):
        given = json.loads(file.read_text("utf-8"))
        dashboard = Dashboard.from_json(given)
        known = json.loads(json.dumps(dashboard, cls=JSONEncoder))
        faults = [*find_unknown(given, known), *find_wrong_values(dashboard)]
        found += len(faults)
        sys.stdout.write(f"{file.name}: {len(given['panels'])} panels, {len(faults)} faults\n")
        sys.stdout.writelines(f"  {fault}\n" for fault in faults)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
