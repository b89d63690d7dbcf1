"""Encodings of pages: the tensors that labelers read."""
