"""The live page of a worker: its last hour and, every second, its state."""
