"""Batches of records that the brokers' disk has damaged."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError


def corrupt(data: Path, topic: str) -> int:
    """Overwrite the last bytes of what a topic holds in one partition, and answer which that is."""
    (log,) = (log for log in data.glob(f"kafka-*/data/{topic}-*/*.log") if log.stat().st_size)
    with log.open("r+b") as file:
        file.seek(-3, os.SEEK_END)
        file.write(b"xxx")
    return int(log.parent.name.rpartition("-")[2])


async def test_a_worker_ends_at_a_corrupt_batch_until_somebody_skips_it(bench, site, stack) -> None:
    (page,) = site(1)
    await bench.produce([page])
    name = bench.topics.input
    partition = corrupt(Path(stack.addresses.directory), name)
    await bench.produce([page])
    skip = f"--group {bench.topics.group} --topic {name}:{partition} --reset-offsets --to-offset 1"
    for _ in range(2):
        worker = bench.worker()
        await bench.until(lambda worker=worker: not worker.is_alive())
        assert worker.process.returncode == 70
        assert worker.says(f"partition {partition} of topic {name} cannot be read from offset 0 to 0: ")
        assert worker.says(skip)
        assert not worker.says("Traceback")
    assert await bench.documents() == []
    await commit(bench, TopicPartition(name, partition), 1)
    bench.worker()
    await bench.until_done()
    assert len(await bench.documents()) == 1


async def commit(bench, partition: TopicPartition, offset: int) -> None:
    """Set the group's offset of a partition, once the group has no members any more."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bench.kafka.brokers, group_id=bench.topics.group, enable_auto_commit=False
    )
    await consumer.start()
    consumer.assign([partition])
    try:
        async with asyncio.timeout(60):
            while True:
                with suppress(CommitFailedError):
                    await consumer.commit({partition: offset})
                    return
                await asyncio.sleep(0.5)
    finally:
        await consumer.stop()
