"""From labeled pages to a model version."""
