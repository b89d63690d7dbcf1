"""Frontera's spiders, with the settings of the docs' recipe; the test stands for Frontera's own workers."""

import asyncio
import shutil

from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.local.process import Service
from dehusk.streams.settings import KafkaSettings
from tests.crawlers.programs import PROJECTS, Command, environment, needs_python, run


def test_every_page_becomes_a_document(site, attached, recipe, tmp_path):
    shutil.copytree(PROJECTS / "frontera", tmp_path, dirs_exist_ok=True)
    python = environment("frontera", needs_python("3.9"))
    feed = f"{attached.topic}-todo"
    asyncio.run(create_topics(KafkaSettings(attached.brokers), [Topic(feed, 1, 1)]))
    topics = {"SPIDER_LOG_TOPIC": attached.topic, "SPIDER_FEED_TOPIC": feed, "SPIDER_FEED_GROUP": feed}
    own = "".join(f"{name} = {value!r}\n" for name, value in topics.items())
    (tmp_path / "frontier.py").write_text(recipe("Frontera") + own)
    run([python, "feed.py", *site.pages], tmp_path)
    words = ["env", "-C", str(tmp_path), str(python), "-m", "scrapy", "runspider", "spider.py"]
    crawler = Service(Command("spider", words), tmp_path / "spider.log")
    crawler.start()
    try:
        attached.wait_for(site.pages, crawler)
    finally:
        crawler.kill()  # at its end, its Kafka client waits forever
    outcome = attached.clean()
    assert (outcome.formats, outcome.documents) == ({"frontera"}, site.pages)
    assert (set(outcome.skipped), outcome.dead_letters) == ({"not-a-page"}, {})  # how far the spider is
