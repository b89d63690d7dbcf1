"""Training of models, from labeled pages to a version of the model repository."""
