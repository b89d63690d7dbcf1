"""Second cleanings of the first pages of a site."""
