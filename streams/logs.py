"""The log of a worker: one line per event, for people or, as JSON, for collectors."""

import logging
import sys
import time
from datetime import UTC, datetime
from types import TracebackType

import orjson

from dehusk.streams.wording import encodable, printable

ABOUT = ("topic", "partition", "offset", "url", "reason")
"""Extra attributes of a record, which are fields of a line of JSON."""
_MAX_CHARACTERS = 1000
"""Limit of a line, so that no collector cuts it."""
_OWN = "dehusk"
_REPEAT_SECONDS = 30.0
_DENIAL = "uthoriz"
"""Part of `authorized` and `Authorization` in what aiokafka logs of a missing right."""
_log = logging.getLogger(__name__)


class PlainFormatter(logging.Formatter):
    """Lines for people, of 1,000 characters at most."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-8s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's time, level, message and, if there is one, traceback."""
        lines = super().format(record).split("\n")
        return "\n".join(
            f"{line[: _MAX_CHARACTERS - 1]}…" if len(line) > _MAX_CHARACTERS else line for line in lines
        )

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 the name is logging's
        """Return the line of a record; its message may quote strangers, who could forge others."""
        record.message = printable(record.message)
        return super().formatMessage(record)


class JsonFormatter(logging.Formatter):
    """One JSON object per line, of 1,000 characters at most."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's time, level, logger, message and context, and the end of its exception."""
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {name: getattr(record, name) for name in ABOUT if getattr(record, name, None) is not None}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        fields = {name: encodable(text) if isinstance(text, str) else text for name, text in fields.items()}
        line = _json(fields)
        for name, shortened in (("exception", _end), ("message", _start), ("url", _start)):
            text = fields.get(name)
            if len(line) > _MAX_CHARACTERS and isinstance(text, str):
                fields[name] = shortened(text, _MAX_CHARACTERS - len(line) + len(_json(text)))
                line = _json(fields)
        return line


class Repetitions(logging.Filter):
    """A filter of repetitions by libraries, whose clients repeat errors while a broker is unavailable."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[object, float] = {}
        self._denied: set[object] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True if the record is dehusk's own, or was not logged within the last half minute.

        Of a missing right, once is enough: a worker names it for as long as it is missing.
        """
        if record.name.partition(".")[0] == _OWN:
            return True
        now, event = time.monotonic(), (record.name, record.msg)
        if _DENIAL in record.getMessage():
            fresh = event not in self._denied
            self._denied.add(event)
            return fresh
        fresh = now - self._logged.get(event, -_REPEAT_SECONDS) >= _REPEAT_SECONDS
        if fresh:
            recent = {known: at for known, at in self._logged.copy().items() if now - at < _REPEAT_SECONDS}
            self._logged = recent | {event: now}
        return fresh


def calm_coordination(record: logging.LogRecord) -> bool:
    """Make a plain warning of a missing group coordinator, which a new cluster lacks at first."""
    match record:
        case logging.LogRecord(name="aiokafka.consumer.group_coordinator", args=(Exception() as error,)) if (
            type(error).__name__ == "GroupCoordinatorNotAvailableError"  # aiokafka may not be loaded yet
        ):
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.msg, record.args = "no broker coordinates the group at the moment; trying again", ()
    return True


def is_no_wait_for_unfinished_work(record: logging.LogRecord) -> bool:
    """Return True unless the record is Faust's dump of unfinished work at a stop, which is no fault."""
    return not str(record.msg).startswith(("wait_empty:", "Agent tracebacks:"))


def configure_logs(level: str, *, as_json: bool) -> None:
    """Log to standard error: dehusk from the level on, its libraries from warnings on.

    With `as_json`, warnings of Python and the exception that ends it are logged, too.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if as_json else PlainFormatter())
    handler.addFilter(Repetitions())
    handler.addFilter(calm_coordination)
    handler.addFilter(is_no_wait_for_unfinished_work)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger(_OWN).setLevel(level.upper())
    if as_json:
        logging.captureWarnings(capture=True)
        sys.excepthook = _log_crash


def say_once_without_log() -> None:
    """Have what libraries repeat said once in half a minute, also where no log is configured."""
    handler = logging.lastResort
    if handler is not None and not any(isinstance(each, Repetitions) for each in handler.filters):
        handler.addFilter(Repetitions())


def are_json() -> bool:
    """Return True if the log is JSON lines."""
    return any(isinstance(handler.formatter, JsonFormatter) for handler in logging.getLogger().handlers)


def _json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_UTC_Z).decode()


def _start(text: str, limit: int) -> str:
    """Return the start of a text whose JSON has no more characters than the limit."""
    kept = text[: max(limit - 3, 0)]
    while kept and len(_json(kept)) > limit - 1:
        kept = kept[: len(kept) // 2]
    return f"{kept}…"


def _end(text: str, limit: int) -> str:
    """Return the end of a text whose JSON has no more characters than the limit."""
    return _start(text[::-1], limit)[::-1]


def _log_crash(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    _log.critical("ending because of a bug", exc_info=(kind, error, traceback))
