MAX_DEPTH: int
MAX_ATTRIBUTES: int
MAX_FORMATTING: int

def flattened(html: bytes, *, scripting: bool = True) -> bytes: ...
