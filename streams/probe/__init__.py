"""The examination of a topic before a worker is attached to it."""
