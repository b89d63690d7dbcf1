"""What a version may cost, unless a command says otherwise; apart from what needs numpy and a client."""

MOST_LATENCY = 10.0
"""How many times as long as with the default version a page may take, by the medians."""
