"""The ways a worker ends, as exit statuses; what was in flight is not committed and comes again."""

import logging
import os
from typing import NoReturn

from dehusk.streams.kafka_errors import UnreadableBatch

STOPPED = 0
"""Told to stop."""
FAILED = 70
"""A bug, or a batch that cannot be read: going on could lose messages."""
STALLED = 75
"""No progress, without a reason."""
_log = logging.getLogger(__name__)


def end_process(status: int) -> NoReturn:
    """End at once: nothing that hangs can hold the process, and no other thread goes on."""
    logging.shutdown()
    os._exit(status)


def fail(error: BaseException) -> NoReturn:
    """End at once because of a bug."""
    _log.critical("ending a worker that met a bug; what was in flight comes again", exc_info=error)
    end_process(FAILED)


def fail_at(batch: UnreadableBatch, group: str) -> NoReturn:
    """End at once because of a batch that cannot be read: whoever runs the worker decides what is skipped."""
    behind = "OFFSET, that of the next batch," if batch.next_offset is None else batch.next_offset
    _log.critical(
        "%s; nothing is skipped: a worker ends here each time it starts. Restore the partition, or give up "
        "these records: stop all workers of group %s and set its offset of the partition to %s with Kafka's "
        "own tools: kafka-consumer-groups.sh --bootstrap-server … --group %s --topic %s:%d --reset-offsets "
        "--to-offset %s --execute",
        *(batch, group, behind, group, batch.topic, batch.partition),
        "OFFSET" if batch.next_offset is None else batch.next_offset,
    )
    end_process(FAILED)
