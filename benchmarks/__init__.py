"""Speed of dehusk compared with peers and limits that are measured in the same run."""
