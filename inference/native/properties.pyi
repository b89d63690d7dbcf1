class Marked:
    bylines: bool

    def __init__(self, *, bylines: bool) -> None: ...

class Properties:
    metas: list[tuple[str, str]]
    links: list[tuple[str, str, str, bool]]
    items: list[tuple[str, str, str, int, str]]
    times: list[tuple[str, str, bool, str]]
    bylines: list[str]
    base: str | None
    def __init__(self, document: object, marked: Marked, hiding: dict[int, bool]) -> None: ...
