"""Asks Frontera's spiders for pages, in place of its database worker: `feed.py URL…`."""

import sys

import frontier
from frontera.contrib.backends.remote.codecs.msgpack import Encoder
from frontera.core.models import Request
from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition

FEED = TopicPartition(frontier.SPIDER_FEED_TOPIC, 0)

consumer = KafkaConsumer(bootstrap_servers=frontier.KAFKA_LOCATION, group_id=frontier.SPIDER_FEED_GROUP)
consumer.assign([FEED])
consumer.commit({FEED: OffsetAndMetadata(0, "")})  # so that spiders begin at the first request
consumer.close()
producer = KafkaProducer(bootstrap_servers=frontier.KAFKA_LOCATION)
for url in sys.argv[1:]:
    producer.send(FEED.topic, Encoder(Request).encode_request(Request(url)))
producer.close()
