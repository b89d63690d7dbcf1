"""A worker's monitoring pages, read as its operators would."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.request import urlopen

import orjson
from prometheus_client.parser import text_string_to_metric_families

from dehusk.schemas.documents import Origin
from dehusk.schemas.errors import UnavailableError
from dehusk.streams.worker.counts import Totals
from dehusk.streams.worker.drops import Drop, DropsByReason, DropsOfReason
from dehusk.streams.worker.progress import Report

_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Monitoring:
    """The pages under a URL that ends with a slash."""

    url: str

    def is_ready(self) -> bool:
        """Whether the worker runs and misses no service."""
        try:
            self._get("readyz")
        except UnavailableError:
            return False
        return True

    def report(self) -> Report:
        """The worker's state.

        Raises:
            UnavailableError: the worker does not answer.
        """
        fields = orjson.loads(self._get("report"))
        drops = {name: _drops(fields[name]) for name in ("skipped", "dead_letters")}
        return Report(**fields | drops | {"totals": Totals(**fields["totals"])})

    def skipped(self) -> dict[str, int]:
        """How many messages the worker has skipped so far, by reason.

        Raises:
            UnavailableError: the worker does not answer.
        """
        return {reason: int(count) for reason, count in self.metric("dehusk_skipped_total", "reason").items()}

    def metric(self, name: str, label: str) -> dict[str, float]:
        """The values of a metric by one of its labels, where they are not 0.

        Raises:
            UnavailableError: the worker does not answer.
        """
        families = text_string_to_metric_families(self._get("metrics").decode())
        samples = (sample for family in families for sample in family.samples)
        return {
            sample.labels[label]: sample.value for sample in samples if sample.name == name and sample.value
        }

    def _get(self, page: str) -> bytes:
        try:
            with urlopen(self.url + page, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 an http URL of ours
                return bytes(answer.read())
        except OSError as error:
            raise UnavailableError(f"{self.url}{page} does not answer: {error}") from error


def _drops(by_reason: dict[str, Any]) -> DropsByReason:
    """What gave no document, as it is in JSON."""
    return {
        reason: DropsOfReason(fields["count"], tuple(_drop(**each) for each in fields["latest"]))
        for reason, fields in by_reason.items()
    }


def _drop(*, time: str, source: dict[str, Any], url: str | None, detail: str) -> Drop:
    return Drop(datetime.fromisoformat(time), Origin(**source), url, detail)
