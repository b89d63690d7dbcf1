"""Work on messages and pages in processes with limits, and the cleaning of a batch by it."""
