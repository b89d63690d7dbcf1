"""Messages that workers of the first release, 0.1.0, share: later ones read them, and write their fields.

A field that is added needs a default where it is read, one that is taken away or changed another layout.
"""

from typing import Any

import orjson

_POINT = (
    b'{"time":1800000000.0,"pages_per_second":2.0,"bytes_per_second":2000.0,"kept":0.25,"lag":5,"in_flight":7,'
    b'"memory":100,"steps":{"label":[0,1,0,0,0,0,0,0,0,0,0,0,0,0,0]}}'
)
_COUNTS = (
    b'{"totals":{"messages":10,"bytes":10000,"pages":10,"documents":9,"empty_documents":0,"tombstones":0,'
    b'"skipped":1,"dead_letters":0},"skipped":{"not-html":1},"dead_letters":{},"degraded":{}}'
)
STATE = (
    b'{"layout":1,"host":"host","page":null,"state":{"point":' + _POINT + b',"version":"0.1.0",'
    b'"model":"dehusk version 7","started":1799999940.0,"counts":' + _COUNTS + b',"hindrances":[],'
    b'"most_in_flight":100,"processes":3,"partitions":[{"topic":"raw","partition":0,"lag":5}],'
    b'"more_partitions":0,"dependencies":[{"name":"redis","consequence":"pages go without",'
    b'"unavailable_since":null,"reason":""}],"triton":null,"redis":{"memory":1000,"most_memory":null,'
    b'"hits":0.5}}}'
)
"""State of a worker, on the topic of figures."""
POINT = b'{"layout":1,"point":' + _POINT + b',"counts":' + _COUNTS + b"}"
"""Point of its history."""
ROLLOUT = (
    b'{"revision":1,"serving":"7","change":{"at":"2026-11-22T12:30:00.123456+00:00","by":"somebody",'
    b'"reason":"because"},"previous":null,"promoted_at":null,"canary":null,"shadow":null,"limits":{'
    b'"least_pages":200,"least_failures":5,"most_errors":0.02,"most_rejected":0.001,"most_latency":3.0,'
    b'"least_kept":0.5,"most_kept":2.0,"most_disagreement":0.2,"probation_seconds":600.0}}'
)
"""State of a roll-out, on the control topic."""
REPORT = (
    b'{"worker":"host-1","revision":1,"serving":"7","canary":null,"shadow":null,"refused":{},"figures":{"7":{'
    b'"pages":10,"errors":1,"rejected":2,"words":100,"kept":40,"calls":{"-8":3,"0":1}}},"comparison":null}'
)
"""Report of a worker that follows it."""
REQUEST = b'{"group":"g","newer":[["0011223344556677","raw",0,1]]}'
"""Request to clean pages of a site again."""
_MAPS = {
    *("steps", "skipped", "dead_letters", "degraded", "refused", "figures", "calls", "trials"),
    *("kept_ratios", "dropped_ratios", "slowdowns"),
}
"""Fields whose objects are by the names of what they count."""


def with_later_fields(value: bytes) -> bytes:
    """Return a message with fields, in each of its objects, that only a later release knows."""
    return orjson.dumps(_with_later_fields(orjson.loads(value)))


def _with_later_fields(value: Any, name: str = "") -> Any:
    if isinstance(value, list):
        return [_with_later_fields(each) for each in value]
    if not isinstance(value, dict):
        return value
    fields = {key: _with_later_fields(each, key) for key, each in value.items()}
    return fields if name in _MAPS else fields | {"tomorrow": {"deep": [1]}}


def lacking(written: Any, first: Any) -> list[str]:
    """Return the names of the fields of a message of the first release that a message of today lacks."""
    if not isinstance(first, dict):
        return []
    return [name for name in first if name not in written] + [
        each for name in first if name in written for each in lacking(written[name], first[name])
    ]
