"""Messages from Kafka into the worker, and offsets back."""
