ATTRIBUTES: tuple[str, ...]

class Recording:
    def __init__(self) -> None: ...
