"""What is generated in `inference/native` and committed; `python -m codegen` generates it anew."""
