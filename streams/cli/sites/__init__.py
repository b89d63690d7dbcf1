"""`dehusk sites`: the statistics of sites, shown, forgotten, exported and imported."""
