"""The streaming part: crawler formats, the Faust worker, site statistics, the local stack, the commands."""
