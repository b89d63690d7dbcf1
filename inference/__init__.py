"""From HTML to labeled blocks to documents; needs neither Kafka nor Redis."""

import os

# ONNX Runtime's builds collect and send usage data from the moment they are imported, unless told not to.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
