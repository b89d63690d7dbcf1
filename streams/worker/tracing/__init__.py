"""The traces of micro-batches and their messages, for an OpenTelemetry collector where there is one."""
