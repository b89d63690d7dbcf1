"""Roll-outs of model versions: their states on the control topic, and verdicts on the versions tried."""
