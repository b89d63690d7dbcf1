"""`dehusk top`: a group of workers in a terminal."""
