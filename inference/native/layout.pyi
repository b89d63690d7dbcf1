from typing import TypeAlias

SELECTOLAX_VERSION: str

Element: TypeAlias = tuple[str, list[tuple[str, str]], str, str]

def outline(address: int) -> dict[int, tuple[tuple[int, int, int, int, int], str | Element | None]]: ...
