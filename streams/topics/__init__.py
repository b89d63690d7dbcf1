"""The messages that dehusk writes: documents, dead letters and audit records."""
