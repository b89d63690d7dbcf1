"""The ports of a local stack, kept in its folder so that the next start answers at the same addresses."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.local.addresses import free_ports, is_free


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one start, by the names of who listens on them."""

    numbers: dict[str, int]
    taken: dict[str, int]
    """Ports of the start before that another program listens on now; `numbers` has others instead."""


def assign_ports(names: Sequence[str], file: Path) -> Ports:
    """A port for each name: the one that the file keeps if it is free, else a new one, which the file keeps.

    Raises:
        ConfigurationError: the file is not one that was written here.
    """
    kept = _read(file)
    taken = {name: kept[name] for name in names if name in kept and not is_free(kept[name])}
    missing = [name for name in names if name not in kept or name in taken]
    numbers = kept | dict(zip(missing, free_ports(len(missing), besides=kept.values()), strict=True))
    file.write_bytes(orjson.dumps(numbers))
    return Ports({name: numbers[name] for name in names}, taken)


def _read(file: Path) -> dict[str, int]:
    try:
        return {str(name): int(number) for name, number in orjson.loads(file.read_bytes()).items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{file} is damaged: remove it, and other ports are taken") from error
