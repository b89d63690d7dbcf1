"""What holds for all tests."""

import os
import signal

try:
    from hypothesis import settings
except ImportError:  # the environment for training has none, and no test that uses it
    pass
else:
    settings.register_profile("dehusk", deadline=None)  # a busy machine is no defect
    settings.load_profile("dehusk")

# Before a test module imports ONNX Runtime, which would collect usage data.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

# Where the tests are started in the background of a shell, they and all that they start would ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
