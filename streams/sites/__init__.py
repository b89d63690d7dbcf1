"""Statistics of sites: on how many pages of a site each text and each structure is."""
