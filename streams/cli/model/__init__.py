"""`dehusk model`: versions of a model and their roll-outs."""
