"""Objects in S3 and Google Cloud Storage; the only module that imports obstore.

Credentials and endpoints come from the environment, by the names of the clouds' own tools, e.g.
`AWS_ENDPOINT_URL`, or from the machine that this runs on.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import obstore
from obstore import exceptions, store

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.stores.errors import (
    NoBucketError,
    NotStoredError,
    StoreAwayError,
    StoreError,
    shown,
)
from dehusk.streams.stores.piece import Piece, answer_seconds

os.environ.setdefault("TOKIO_WORKER_THREADS", "1")  # threads take memory, of which pages have little
_TIMEOUT = "20s"
_CODE = re.compile(r"<Code>(\w+)</Code>")
_CAUSE = re.compile(r'message: "([^"]+)"')
"""Cause of an error of the network."""
_STATUS = re.compile(r"status code: (\d{3})")
_METADATA = ("169.254.169.254", "metadata.google.internal")
"""Places that are asked for the credentials of a machine, as the last ones."""
_PANIC = "PanicException"
"""Name of what is raised where obstore's own code fails; it is no `Exception`, and cannot be imported."""
_USER = re.compile(r"(?<=://)[^/\s]*@")
"""User in the URL of an endpoint, with a password or without."""
_REFUSED_LOGINS = {
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
}
"""Codes of S3 for credentials that are wrong for all objects."""
_LATER = {408, 429}
"""Status codes of requests that may be repeated."""
_ADVICE = "set those of the store in the environment, e.g. AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


class Bucket:
    """A bucket of S3 or Google Cloud Storage."""

    def __init__(self, url: str, patience: float) -> None:
        """Take the URL of a bucket, e.g. `s3://pages`; `patience` is the time in seconds of all retries.

        Raises:
            ConfigurationError: the settings in the environment do not fit.
        """
        self.url = url
        retries: Any = {
            "max_retries": 1000,
            "retry_timeout": timedelta(seconds=patience),
            "backoff": {
                "init_backoff": timedelta(milliseconds=100),
                "max_backoff": timedelta(seconds=5),
                "base": 2,
            },
        }
        options: Any = {
            "allow_http": True,
            "connect_timeout": "5s",
            "read_timeout": timedelta(seconds=answer_seconds(patience)),
            "timeout": _TIMEOUT,
        }
        try:
            self._store: Any = store.from_url(url, client_options=options, retry_config=retries)
        except (exceptions.BaseError, ValueError) as error:
            raise ConfigurationError(f"{url}: {_first_line(error)}") from error

    def fetch(self, key: str, begin: int, end: int) -> Piece:
        """Return a part of an object, whose end may lie behind that of the object.

        Raises:
            StoreError: there is none, or it cannot be read.
            StoreAwayError: the store does not answer.
        """
        with self._translated(key):
            try:
                result = obstore.get(self._store, key, options={"range": (begin, end)})
            except exceptions.GenericError as error:
                if begin or not _is_unsatisfiable(error):
                    raise
                result = obstore.get(self._store, key)  # it is empty
            meta = result.meta
            version = meta.get("e_tag") or str(meta["last_modified"])
            return Piece(bytes(result.bytes()), meta["size"], version)

    def list(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield key and size of each object below a folder, in the order of their keys.

        Raises:
            StoreError: there is none, or it cannot be read.
            StoreAwayError: the store does not answer.
        """
        with self._translated(folder):
            found = [
                (meta["path"], meta["size"]) for chunk in obstore.list(self._store, folder) for meta in chunk
            ]
        yield from sorted(each for each in found if not each[0].endswith("/"))

    @contextmanager
    def _translated(self, key: str) -> Iterator[None]:
        name = f"{self.url}/{key}"
        try:
            yield
        except (exceptions.BaseError, OSError, ValueError) as error:
            raise self._translate(error, name) from error
        except BaseException as error:
            if type(error).__name__ != _PANIC:
                raise
            raise StoreAwayError(
                f"no request can hold the credentials or the endpoint of {self.url} in the environment, "
                f"as with a line break at their end: {_first_line(error)}"
            ) from error

    def _translate(self, error: Exception, name: str) -> Exception:
        text = str(error)
        code = next(iter(_CODE.findall(text)), "")
        status = int(next(iter(_STATUS.findall(text)), "0"))
        if any(place in text for place in _METADATA):
            return StoreAwayError(f"there are no credentials for {self.url}: {_ADVICE}")
        if code in _REFUSED_LOGINS or isinstance(error, exceptions.UnauthenticatedError):
            return StoreAwayError(f"{self.url} refuses the credentials ({code or status}): {_ADVICE}")
        if isinstance(error, ValueError | FileNotFoundError | exceptions.InvalidPathError) or (
            400 <= status < 500 and status not in _LATER
        ):
            return self._refusal(error, name, code, status)
        at = os.environ.get("AWS_ENDPOINT_URL", "") if self.url.startswith("s3") else ""
        where = f"{self.url} at {shown(at)}" if at else self.url
        why = code or next(iter(_CAUSE.findall(text)), "") or _first_line(error)
        return StoreAwayError(f"{where} does not give {name}: {why}")

    def _refusal(self, error: Exception, name: str, code: str, status: int) -> StoreError:
        """Return the error of an object that is not given, however often it is asked for."""
        if code == "NoSuchBucket":
            return NoBucketError(f"there is no bucket {self.url}")
        if isinstance(error, FileNotFoundError):
            return NotStoredError(f"there is no object {name}; the URL of a folder ends with a slash")
        if isinstance(error, exceptions.PermissionDeniedError):
            return StoreError(f"{self.url} denies access to {name} ({code or status})")
        if status == 416:
            return StoreError(f"{name} ends before the bytes that are asked for")
        return StoreError(f"{self.url} does not give {name}: {code or _first_line(error)}")


def _is_unsatisfiable(error: Exception) -> bool:
    return _STATUS.findall(str(error))[:1] == ["416"]


def _first_line(error: BaseException) -> str:
    return _USER.sub("", str(error).partition("\n")[0])
