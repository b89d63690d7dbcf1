"""The schema registry (Confluent's REST interface, which Karapace, Redpanda and Apicurio answer too)."""

import base64
import json
import time
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, cast
from urllib.error import HTTPError
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import Request, urlopen

from fastavro.schema import parse_schema
from fastavro.types import Schema as AvroSchema

from dehusk.schemas.errors import ConfigurationError, PageError, UnavailableError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.printable import without_password
from dehusk.streams.settings import MIB

MAX_ANSWER = 16 * MIB
_UNKNOWN_SECONDS = 30.0
"""How long a schema stays unknown: a registry that follows another one learns of new ones a little late."""
_UNKNOWN_AT_MOST = 10_000
_UNAVAILABLE_SECONDS = 5.0
UNKNOWN = {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY}


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as the registry holds it."""

    language: str
    """`AVRO`, `JSON` or `PROTOBUF`."""
    avro: AvroSchema | None
    """The parsed schema, where it is Avro."""


class SchemaRegistry:
    """Schemas by their id or GUID; each is asked for once, as a registered schema never changes."""

    def __init__(self, url: str, timeout: float = 3.0) -> None:
        """Reads a URL `http[s]://[user:password@]host[:port][/path]`; `timeout` in seconds."""
        parts = _parts(url)
        user, _, self._host = parts.netloc.rpartition("@")
        self._base = f"{parts.scheme}://{self._host}{parts.path.rstrip('/')}"
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if user:
            self._headers["Authorization"] = f"Basic {base64.b64encode(unquote(user).encode()).decode()}"
        self._timeout = timeout
        self._known: dict[str, RegisteredSchema] = {}
        self._unknown: dict[str, tuple[float, str]] = {}
        """What is not asked for again, in the order of asking: until when, and why."""
        self._unavailable = (0.0, "")
        """Until when nothing is asked for, and why."""

    def schema(self, reference: str) -> RegisteredSchema:
        """The schema `ids/7` or `guids/…`.

        Raises PageError where the registry does not know it, UnavailableError where the registry
        does not answer. Either answer holds for a while, so that no message waits for what others found out.
        """
        if reference not in self._known:
            self._known[reference] = self._ask(reference)
        return self._known[reference]

    def _ask(self, reference: str) -> RegisteredSchema:
        now = time.monotonic()
        until, why = self._unknown.get(reference, (now, ""))
        if now < until:
            raise PageError(BrokenReason.UNKNOWN_SCHEMA, why)
        until, why = self._unavailable
        if now < until:
            raise UnavailableError(why)
        try:
            return self._read(self._get(f"/schemas/{reference}", reference), reference)
        except PageError as error:
            self._remember_unknown(reference, str(error))
            raise
        except UnavailableError as error:
            self._unavailable = (time.monotonic() + _UNAVAILABLE_SECONDS, str(error))
            raise

    def _remember_unknown(self, reference: str, why: str) -> None:
        self._unknown.pop(reference, None)
        if len(self._unknown) >= _UNKNOWN_AT_MOST:
            del self._unknown[next(iter(self._unknown))]
        self._unknown[reference] = (time.monotonic() + _UNKNOWN_SECONDS, why)

    def _read(self, answer: dict[str, Any], reference: str) -> RegisteredSchema:
        language = str(answer.get("schemaType", "AVRO"))
        if language != "AVRO":
            return RegisteredSchema(language, None)
        try:
            return RegisteredSchema(language, self._parse(answer, {}))
        except (UnavailableError, PageError):
            raise
        except Exception as error:  # fastavro documents no common base of what a bad schema raises
            raise PageError(
                BrokenReason.UNKNOWN_SCHEMA, f"schema {reference} is not Avro: {error}"
            ) from error

    def _parse(self, answer: dict[str, Any], named: dict[str, Any]) -> AvroSchema:
        for needed in answer.get("references", ()):
            path = f"/subjects/{quote(needed['subject'], safe='')}/versions/{int(needed['version'])}"
            self._parse(self._get(path, str(needed["name"])), named)
        return parse_schema(json.loads(answer["schema"]), named_schemas=named)

    def _get(self, path: str, reference: str) -> dict[str, Any]:
        request = Request(self._base + path, headers=self._headers)  # noqa: S310 the constructor checks the scheme
        try:
            with urlopen(request, timeout=self._timeout) as answer:  # noqa: S310 likewise
                return cast("dict[str, Any]", json.loads(answer.read(MAX_ANSWER)))
        except HTTPError as error:
            error.close()
            if error.code in UNKNOWN:
                message = f"the registry at {self._host} does not know schema {reference}"
                raise PageError(BrokenReason.UNKNOWN_SCHEMA, message) from error
            raise UnavailableError(f"the schema registry at {self._host} answers {error.code}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise UnavailableError(f"the schema registry at {self._host} is unavailable: {error}") from error


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_one = False  # its words could hold the password
    if not is_one:
        raise ConfigurationError(f"the schema registry is not an http or https URL: {without_password(url)}")
    return parts
