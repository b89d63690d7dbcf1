class Head:
    title: str | None
    declared: dict[str, str]
    json_ld: list[str]
    base: str
    canonical: str
