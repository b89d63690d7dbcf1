"""The log of a worker: one line per event, for people or, as JSON, for collectors."""

import logging
import sys
import time
from datetime import UTC, datetime
from types import TracebackType

import orjson

_PLAIN = "%(asctime)s %(levelname)-8s %(message)s"
_OWN = ("dehusk",)
_REPEAT_SECONDS = 30.0
_log = logging.getLogger(__name__)


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


class Repetitions(logging.Filter):
    """Drops what a library has said moments ago: clients repeat themselves while a broker is unavailable."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[object, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is dehusk's own, or was not logged within the last half minute."""
        if record.name.partition(".")[0] in _OWN:
            return True
        now, event = time.monotonic(), (record.name, record.msg)
        fresh = now - self._said.get(event, -_REPEAT_SECONDS) >= _REPEAT_SECONDS
        if fresh:
            recent = {said: at for said, at in self._said.copy().items() if now - at < _REPEAT_SECONDS}
            self._said = recent | {event: now}
        return fresh


def calm_coordination(record: logging.LogRecord) -> bool:
    """Says in a plain warning that no broker coordinates the group: on a new cluster none does at first."""
    match record:
        case logging.LogRecord(name="aiokafka.consumer.group_coordinator", args=(Exception() as error,)) if (
            type(error).__name__ == "GroupCoordinatorNotAvailableError"  # aiokafka may not be loaded yet
        ):
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.msg, record.args = "no broker coordinates the group at the moment; trying again", ()
    return True


def is_no_wait_for_unfinished_work(record: logging.LogRecord) -> bool:
    """Whether the record is not Faust's dump of what is in flight while a worker stops: it is no fault."""
    return not str(record.msg).startswith(("wait_empty:", "Agent tracebacks:"))


def configure_logs(level: str, *, as_json: bool) -> None:
    """Log to standard error: dehusk from the level on, its libraries from warnings on.

    With `as_json`, what Python itself writes there is logged, too: warnings, and the exception that ends it.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if as_json else logging.Formatter(_PLAIN))
    handler.addFilter(Repetitions())
    handler.addFilter(calm_coordination)
    handler.addFilter(is_no_wait_for_unfinished_work)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for package in _OWN:
        logging.getLogger(package).setLevel(level.upper())
    if as_json:
        logging.captureWarnings(capture=True)
        sys.excepthook = _log_crash


def are_json() -> bool:
    """Whether the log is JSON lines."""
    return any(isinstance(handler.formatter, JsonFormatter) for handler in logging.getLogger().handlers)


def _log_crash(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    _log.critical("ending because of a bug", exc_info=(kind, error, traceback))
