"""The local stack: real Kafka, Redis and Triton without Docker and without root."""
