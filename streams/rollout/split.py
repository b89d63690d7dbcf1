"""Which sites a canary labels."""

from hashlib import blake2b

_HASHES = float(1 << 64)


def is_of_share(name: str, share: float) -> bool:
    """Whether something is of a share of all by its name alone; a larger share has all of a smaller one.

    What has no name is of none: pages without a site stay with the version that serves.
    """
    if not name:
        return False
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) / _HASHES < share
