"""Fine-tuning: a new version of a model from pages that were labeled by hand."""
