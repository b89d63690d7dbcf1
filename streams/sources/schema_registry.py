"""The schema registry (Confluent's REST interface, which Karapace, Redpanda and Apicurio answer too)."""

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, cast
from urllib.error import HTTPError
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import Request, urlopen

import msgspec
from fastavro.schema import parse_schema
from fastavro.types import Schema as AvroSchema

from dehusk.schemas.errors import ConfigurationError, DehuskError, PageError, UnavailableError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.settings import MIB
from dehusk.streams.sources.source import MissingSchemaError, RefusedSchemaError
from dehusk.streams.tls import tls_fault
from dehusk.streams.wording import without_password

MAX_ANSWER = 16 * MIB
_UNKNOWN_SECONDS = 30.0
"""Time for which a schema stays unknown: a registry that follows another one learns of new ones late."""
MAX_FAILED = 10_000
_POSTED = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
_SHOWN = 500
_UNAVAILABLE_SECONDS = 5.0
_PATIENCE_SECONDS = 60.0
"""Time for which messages wait for a schema that the registry refuses while it answers for others."""
MAX_REFERENCES = 100
"""Schemas that one schema may refer to, also indirectly."""
_INVALID = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
_MISSING = range(40_400, 40_500)
"""Codes of a registry for what it does not have; other servers answer 404, too, but without one."""
_IS_PATH_RIGHT = "is the path of --schema-registry that of its interface for Confluent's clients?"
_REFUSED: Mapping[int, str] = {
    HTTPStatus.NOT_FOUND: _IS_PATH_RIGHT,
    **dict.fromkeys(
        (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN),
        "does the URL of --schema-registry have a user who may read schemas?",
    ),
}
"""Advice where a schema is refused, by the status."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """Failure of a schema, which is not asked for again for a while."""

    error: PageError | RefusedSchemaError
    until: float
    refused_since: float | None = None
    """Monotonic time since which it has been refused, without an answer in between; None if it is unknown."""


class _NotFoundError(RefusedSchemaError):
    """A schema for which the registry answers 404, but not that it does not have it."""


class _Reference(msgspec.Struct):
    """Version of another schema that a schema refers to."""

    name: str
    subject: str
    version: int


class _Answer(msgspec.Struct):
    """Answer of the registry for an Avro schema."""

    schema: str
    """The schema itself, as JSON."""
    references: tuple[_Reference, ...] = ()


class _Registered(msgspec.Struct):
    """Answer of the registry for a schema that it holds."""

    id: int


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as the registry holds it."""

    language: str
    """`AVRO`, `JSON` or `PROTOBUF`."""
    avro: AvroSchema | None
    """The parsed schema, if it is Avro."""


class SchemaRegistry:
    """Schemas by their id or GUID; each is asked for once, as a registered schema never changes."""

    def __init__(self, url: str, timeout: float = 3.0) -> None:
        """Take a URL `http[s]://[user:password@]host[:port][/path]`; `timeout` in seconds."""
        parts = _split_url(url)
        user, _, self._host = parts.netloc.rpartition("@")
        self._base = f"{parts.scheme}://{self._host}{parts.path.rstrip('/')}"
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if user:
            self._headers["Authorization"] = f"Basic {base64.b64encode(unquote(user).encode()).decode()}"
        self._timeout = timeout
        self._known: dict[str, RegisteredSchema] = {}
        self._failures: dict[str, _Failure] = {}
        """Oldest first."""
        self._unavailable = (0.0, "")
        """The end of the time in which nothing is asked for, and the reason."""

    def schema(self, reference: str) -> RegisteredSchema:
        """Return the schema `ids/7` or `guids/…`.

        Each error holds for a while, so that no message waits for what others found out.

        Raises:
            PageError: the registry does not know it, or has refused it for long while it answers for others.
            RefusedSchemaError: the registry refuses it, or answers all but this one.
            MissingSchemaError: the registry does not answer.
        """
        if reference not in self._known:
            self._known[reference] = self._ask(reference)
        return self._known[reference]

    def register(self, subject: str, language: str, schema: str) -> int:
        """Return the number of a schema of a subject, after adding it as a new version if it is not there.

        Raises:
            ConfigurationError: the registry refuses the schema or the user, or is none.
            UnavailableError: it does not answer.
        """
        path = f"/subjects/{quote(subject, safe='')}"
        named = {} if language == "AVRO" else {"schemaType": language}
        content = json.dumps({"schema": schema, **named}).encode()
        for place in (path, f"{path}/versions"):
            request = Request(self._base + place, content, self._headers | _POSTED)  # noqa: S310 the constructor checks the scheme
            try:
                with urlopen(request, timeout=self._timeout) as answer:  # noqa: S310 likewise
                    return msgspec.json.decode(answer.read(MAX_ANSWER), type=_Registered).id
            except HTTPError as error:
                told = _told(error)
                if error.code != HTTPStatus.NOT_FOUND or place != path:
                    raise self._registration_error(subject, error.code, _message(told)) from error
            except (OSError, HTTPException) as error:
                raise self._unavailable_error(
                    error, "start it, or give its address with --schema-registry URL"
                ) from error
            except (ValueError, msgspec.MsgspecError) as error:
                raise ConfigurationError(
                    f"{self._host} is no schema registry: its answer names no schema"
                ) from error
        raise AssertionError("one of the two places answers")

    def _registration_error(self, subject: str, status: int, told: str) -> DehuskError:
        """Return the error of a schema that is not registered, with what to do."""
        answers = f"the schema registry at {self._host} answers {status}{told} for subject {subject}"
        match status:
            case HTTPStatus.CONFLICT:
                advice = (
                    "the schema of documents is not compatible with that of the subject: write to another "
                    "--output, name another --schema-subject, or change the compatibility of this one"
                )
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
                advice = (
                    "put a user who may register schemas into the URL of --schema-registry, or have an "
                    "administrator register the file of schemas/registry/ for this subject"
                )
            case HTTPStatus.NOT_FOUND:
                advice = _IS_PATH_RIGHT
            case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                return UnavailableError(
                    f"{answers}: is the schema of the subject of another language? If so, write to another "
                    "--output, or name another --schema-subject"
                )
            case _:
                advice = "it does not take the schema"
        return ConfigurationError(f"{answers}: {advice}")

    def _ask(self, reference: str) -> RegisteredSchema:
        now = time.monotonic()
        failure = self._failures.get(reference)
        if failure is not None and now < failure.until:
            raise failure.error.with_traceback(None)
        until, why = self._unavailable
        if now < until:
            raise MissingSchemaError(why, reference)
        try:
            schema = self._read(self._get(f"/schemas/{reference}", reference), reference)
        except PageError as error:
            self._remember(reference, _Failure(error, now + _UNKNOWN_SECONDS))
            raise
        except RefusedSchemaError as error:
            since = now if failure is None or failure.refused_since is None else failure.refused_since
            refusal = self._refusal(error, now - since)
            self._remember(reference, _Failure(refusal, time.monotonic() + _UNAVAILABLE_SECONDS, since))
            raise refusal from error
        except UnavailableError as error:
            self._unavailable = (time.monotonic() + _UNAVAILABLE_SECONDS, str(error))
            raise MissingSchemaError(str(error), reference) from error
        self._failures.pop(reference, None)
        return schema

    def _refusal(self, error: RefusedSchemaError, seconds: float) -> PageError | RefusedSchemaError:
        """Return the error of a schema that has been refused for so long.

        After a while it is an error of the message, if the registry, asked again, answers for another schema.
        Where none is known yet, one that is not found is one of the message, too, if the path is right.
        """
        if seconds < _PATIENCE_SECONDS:
            return error
        if not self._known:
            if isinstance(error, _NotFoundError) and self._lists_languages():
                why = (
                    f"the schema registry at {self._host} answers 404 for schema {error.reference}, for "
                    f"{seconds:.0f} s, and lists the languages of schemas"
                )
                return PageError(BrokenReason.UNKNOWN_SCHEMA, why)
            return error
        other = next(iter(self._known))
        try:
            self._get(f"/schemas/{other}", other)
        except (PageError, UnavailableError):
            return error
        why = f"{error}, for {seconds:.0f} s, and answers for {other}"
        return PageError(BrokenReason.UNKNOWN_SCHEMA, why)

    def _remember(self, reference: str, failure: _Failure) -> None:
        self._failures.pop(reference, None)
        if len(self._failures) >= MAX_FAILED:
            del self._failures[next(iter(self._failures))]
        self._failures[reference] = failure

    def _read(self, answer: dict[str, Any], reference: str) -> RegisteredSchema:
        language = str(answer.get("schemaType", "AVRO"))
        if language != "AVRO":
            return RegisteredSchema(language, None)
        try:
            return RegisteredSchema(language, self._parse(answer, {}, {}))
        except (UnavailableError, PageError):
            raise
        except Exception as error:  # fastavro documents no common base of what a bad schema raises
            raise PageError(
                BrokenReason.UNKNOWN_SCHEMA, f"schema {reference} is not Avro: {error}"
            ) from error

    def _parse(
        self, fields: dict[str, Any], named: dict[str, Any], parsed: dict[str, AvroSchema | None]
    ) -> AvroSchema:
        """Parse a schema after those that it refers to, of which each is parsed once, by its path."""
        answer = msgspec.convert(fields, _Answer, strict=False)
        for needed in answer.references:
            path = f"/subjects/{quote(needed.subject, safe='')}/versions/{needed.version}"
            if path in parsed:
                if parsed[path] is None:
                    raise ValueError(f"it refers to {needed.name}, which refers to it")
                continue
            if len(parsed) >= MAX_REFERENCES:
                raise ValueError(f"it refers to more than {MAX_REFERENCES} schemas")
            parsed[path] = None
            parsed[path] = self._parse(self._get(path, needed.name), named, parsed)
        return parse_schema(json.loads(answer.schema), named_schemas=named)

    def _get(self, path: str, reference: str) -> dict[str, Any]:
        request = Request(self._base + path, headers=self._headers)  # noqa: S310 the constructor checks the scheme
        try:
            with urlopen(request, timeout=self._timeout) as answer:  # noqa: S310 likewise
                content = answer.read(MAX_ANSWER)
        except HTTPError as error:
            told = _told(error)
            if error.code in _INVALID or told.get("error_code") in _MISSING:
                message = f"the registry at {self._host} does not know schema {reference}"
                raise PageError(BrokenReason.UNKNOWN_SCHEMA, message) from error
            advice = f" ({_REFUSED[error.code]})" if error.code in _REFUSED else ""
            kind = _NotFoundError if error.code == HTTPStatus.NOT_FOUND else RefusedSchemaError
            raise self._refused(f"answers {error.code}{advice}", reference, kind) from error
        except (OSError, HTTPException, ValueError) as error:
            if self._answers():
                raise self._refused(f"answers others, but fails ({error})", reference) from error
            raise self._unavailable_error(error) from error
        try:
            fields = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._refused("answers what is no JSON", reference) from error
        if not isinstance(fields, dict):
            raise self._refused("answers JSON that is no object", reference)
        return cast("dict[str, Any]", fields)

    def _answers(self) -> bool:
        """Return True if the registry answers what needs no schema; one without this path does, too."""
        try:
            self._read_languages()
        except HTTPError as error:
            return error.code < HTTPStatus.INTERNAL_SERVER_ERROR
        except (OSError, HTTPException, ValueError):
            return False
        return True

    def _lists_languages(self) -> bool:
        """Return True if the registry lists the languages of schemas, as one does at the right path."""
        try:
            return bool(msgspec.json.decode(self._read_languages(), type=list[str]))
        except (OSError, HTTPException, ValueError, msgspec.MsgspecError):
            return False

    def _read_languages(self) -> bytes:
        """Return what the registry answers to the question for the languages of schemas.

        Raises:
            OSError, HTTPException, ValueError: it cannot be asked, or answers an error.
        """
        request = Request(f"{self._base}/schemas/types", headers=self._headers)  # noqa: S310 likewise
        try:
            with urlopen(request, timeout=self._timeout) as answer:  # noqa: S310 likewise
                content: bytes = answer.read(MAX_ANSWER)
        except HTTPError as error:
            error.close()
            raise
        return content

    def _unavailable_error(self, error: Exception, advice: str = "") -> UnavailableError:
        """Return the error of a registry that cannot be asked, with advice, or that of its TLS."""
        fault = tls_fault(error)
        told = f"the schema registry at {self._host} is unavailable: {fault or error}"
        return UnavailableError(f"{told}; {advice}" if advice and fault is None else told)

    def _refused(
        self, how: str, reference: str, kind: type[RefusedSchemaError] = RefusedSchemaError
    ) -> RefusedSchemaError:
        return kind(f"the schema registry at {self._host} {how} for schema {reference}", reference)


def _told(error: HTTPError) -> dict[str, Any]:
    """Return the fields of an answer that refuses; none if they cannot be read."""
    try:
        with error:
            fields = json.loads(error.read(MAX_ANSWER))
    except (OSError, HTTPException, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _message(told: dict[str, Any]) -> str:
    message = " ".join(str(told.get("message", "")).split())[:_SHOWN]
    return f" ({message})" if message else ""


def _split_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_one = False  # its words could hold the password
    if not is_one:
        raise ConfigurationError(f"the schema registry is not an http or https URL: {without_password(url)}")
    return parts
