"""The log of a worker: one line per event, for people or, as JSON, for collectors."""

import logging
from datetime import UTC, datetime

import orjson

_PLAIN = "%(asctime)s %(levelname)-8s %(message)s"


class JsonFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record's time, level, logger, message and, if there is one, exception."""
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(fields, option=orjson.OPT_UTC_Z).decode()


def configure_logs(level: str, *, as_json: bool) -> None:
    """Log to standard error: dehusk from the level on, its libraries from warnings on."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if as_json else logging.Formatter(_PLAIN))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for package in ("streams", "inference"):
        logging.getLogger(package).setLevel(level.upper())
