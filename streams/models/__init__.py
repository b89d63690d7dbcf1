"""Versions of models: on the disk of a model repository, and on a Triton server that is told what to load."""
