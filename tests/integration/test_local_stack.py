"""The local stack itself, on real parts."""

from aiokafka.admin import AIOKafkaAdminClient

from streams.local.stack import LocalStack


async def test_kafka_answers_at_its_address(stack: LocalStack) -> None:
    client = AIOKafkaAdminClient(bootstrap_servers=stack.addresses.kafka)
    await client.start()
    try:
        cluster = await client.describe_cluster()
    finally:
        await client.close()
    assert [broker["port"] for broker in cluster["brokers"]] == [int(stack.addresses.kafka.split(":")[1])]


def test_parts_answer_at_the_same_address_after_a_kill(stack: LocalStack) -> None:
    before = stack.addresses
    stack.parts["redis"].kill()
    assert not stack.parts["redis"].running
    stack.parts["redis"].start()
    assert stack.addresses == before
    stack.check()
