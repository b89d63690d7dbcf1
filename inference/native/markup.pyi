ATTRIBUTES: tuple[str, ...]
NUMBERED_TAGS: tuple[str, ...]
NUMBERED_ATTRIBUTES: tuple[str, ...]
