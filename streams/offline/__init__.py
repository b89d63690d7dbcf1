"""The pipeline without Kafka: pages in, a line of JSON for each, in the same order."""
