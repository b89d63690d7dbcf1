"""Everything that flows: crawler formats, the Faust worker, block frequencies, the local stack, the command line."""
