"""Roll-outs of model versions: their states on the control topic, and what decides on going back."""
