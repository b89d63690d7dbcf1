"""The Faust worker."""
