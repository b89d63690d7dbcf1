"""All that a worker has seen of versions: what it reports and judges by."""

from dataclasses import dataclass, field

from dehusk.streams.worker.rollout.shadow import Shadow
from dehusk.streams.worker.rollout.tally import Tally


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Of the versions that label pages, and of the one in the shadow."""

    tally: Tally = field(default_factory=Tally)
    shadow: Shadow = field(default_factory=Shadow)
