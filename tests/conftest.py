"""What holds for all tests."""

import os

try:
    from hypothesis import settings
except ImportError:  # the environment for training has none, and no test that uses it
    pass
else:
    settings.register_profile("dehusk", deadline=None)  # a busy machine is no defect
    settings.load_profile("dehusk")

# Before a test module imports ONNX Runtime, which would collect usage data.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
