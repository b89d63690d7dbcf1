class Marked:
    bylines: bool

    def __init__(self, *, bylines: bool) -> None: ...
