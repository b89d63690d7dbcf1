"""Parts that commands share: their options, configuration, terminal and interrupts."""
