"""Reading what a topic holds of a group, and what comes, outside of a worker."""

from contextlib import aclosing

from dehusk.streams.consuming import open_topics
from dehusk.streams.group.group import Group
from dehusk.streams.settings import KafkaSettings


async def read_group(kafka: KafkaSettings, topic: str, name: str) -> Group:
    """The group as the topic tells of it now.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    group = Group(name)
    async with open_topics(kafka, topic) as reader, aclosing(reader.held()) as held:
        async for message, time in held:
            group.handle(message, time)
    return group
