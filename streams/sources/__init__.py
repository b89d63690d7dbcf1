"""The crawler formats: from a Kafka record to pages."""
