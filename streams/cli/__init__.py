"""The `dehusk` command."""
