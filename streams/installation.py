"""How to install what only some commands need."""


def how_to_install(extra: str) -> str:
    """The commands that install an extra of dehusk, which comes as a checkout."""
    return f"`make setup` in dehusk's checkout, or `pip install '.[{extra}]'` there"
