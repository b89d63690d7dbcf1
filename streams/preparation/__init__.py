"""The preparation of messages: decoded, segmented and encoded, in processes with limits."""
