from typing import Any

class Walk:
    texts: list[str]
    paths: list[str]
    linked: list[int]
    boundaries: list[int]
    hidden: list[bool]
    noscripts: list[str]
    json_ld: list[str]
    declared: dict[str, str]
    structure: dict[str, Any]
    def __init__(self, document: object, address: int, *, fallback: bool) -> None: ...
    @property
    def title(self) -> str: ...
