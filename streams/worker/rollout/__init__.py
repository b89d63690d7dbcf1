"""Roll-outs in a worker: the versions that label a batch, their figures, and taking unfit ones back."""
