"""The steps of the worker, from a batch of messages to acknowledged documents."""
