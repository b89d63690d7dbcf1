"""Speed of dehusk, beside peers and limits that are measured in the same run."""
