"""The test bed: labelers, and extractors of others, on the same labeled pages."""
