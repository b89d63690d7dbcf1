"""Counts in words, as people read them."""


def counted(count: int, noun: str) -> str:
    """`1 page`, `2,000 pages`; of nouns whose plural ends with an s."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
