"""Everything that flows: crawler formats, the Faust worker, site statistics, the local stack, the CLI."""
