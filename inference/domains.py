"""The registrable domain of a host, by the Public Suffix List: as its package has it, nothing is fetched."""

from publicsuffixlist import PublicSuffixList

_SUFFIXES = PublicSuffixList()


def registrable_domain(host: str) -> str | None:
    """The public suffix of a host and the label before it: `example.co.uk` of `shop.example.co.uk`.

    Private suffixes are public ones, too: `me.github.io` is a domain. None for what has none: an IP address,
    a public suffix, a host of one label or with empty labels.
    """
    if ":" in host or host.rpartition(".")[2].isdecimal():
        return None
    return _SUFFIXES.privatesuffix(host)
