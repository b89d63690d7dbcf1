SAMPLE_CHARACTERS: int
SEARCHED_CHARACTERS: int
SCRIPTS: tuple[str, ...]

def sample_of(text: str) -> tuple[str, int, tuple[int, ...]]: ...
