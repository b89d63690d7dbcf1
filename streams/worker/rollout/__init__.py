"""What a worker does with a roll-out: which version labels which page, and when one has to go."""
