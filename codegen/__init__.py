"""Generator of the committed C declarations and JSON Schemas; `python -m codegen` runs it."""
