"""Reading a control topic as it is now."""

from contextlib import aclosing

from dehusk.streams.consuming import read
from dehusk.streams.rollout.control import Control
from dehusk.streams.settings import KafkaSettings


async def read_control(kafka: KafkaSettings, topic: str) -> Control:
    """What the topic says, read to its end.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    control = Control()
    async with aclosing(read(kafka, topic)) as messages:
        async for message, time in messages:
            control.take(message, time)
    return control
