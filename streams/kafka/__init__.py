"""Clients of Kafka: settings, topics, readers, producers and errors."""
