"""Everything that flows: crawler formats, the Faust worker, frequencies, the local stack, the CLI."""
