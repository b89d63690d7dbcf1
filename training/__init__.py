"""From labelled pages to a model version."""
