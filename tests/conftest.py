"""What holds for all tests."""

import os

# Before a test module imports ONNX Runtime, which would collect usage data.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
