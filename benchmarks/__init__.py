"""How fast dehusk is, beside peers and limits that are measured in the same run."""
