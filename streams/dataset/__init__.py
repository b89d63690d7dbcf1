"""Documents as files of a folder: Parquet, JSON lines and WET."""
