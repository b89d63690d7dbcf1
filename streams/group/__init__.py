"""The figures of all workers of a consumer group, which they share on a topic."""
