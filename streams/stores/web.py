"""Objects on web servers, in ranges (RFC 9110, section 14), and on HDFS by its REST interface, WebHDFS."""

import re
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.client import HTTPException, HTTPMessage, InvalidURL
from typing import IO, Protocol, TypeVar, cast
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import msgspec

from dehusk.streams.settings import KIB, MIB
from dehusk.streams.stores.errors import NotStoredError, StoreAwayError, StoreError, is_below, shown
from dehusk.streams.stores.piece import Piece, answer_seconds
from dehusk.streams.tls import tls_fault

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two attempts; each pause is twice as long as the one before."""
_MOST_CHUNKED = 256 * KIB
"""Bytes of the largest object whose size its server does not tell."""
_MOST_LISTED = 64 * MIB
"""Bytes of the largest list of a folder of HDFS: of some 200,000 files."""
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-\d+/(\d{1,18})$", re.ASCII)
_SIZE = re.compile(r"\d{1,18}", re.ASCII)
_LATER = {408, 429, 500, 502, 503, 504}
"""Status codes of requests that may be repeated."""
_LATER_IN_HADOOP = {"StandbyException", "RetriableException", "ObserverRetryOnActiveException"}
"""Its exceptions during a failover, which it answers as it does all of input and output: by 403."""
_MOST_OF_AN_ERROR = 64 * KIB


class Answer(Protocol):
    """An answer of a server, as urllib gives it."""

    status: int
    headers: HTTPMessage

    def read(self, size: int) -> bytes:
        """Return the next bytes of the body."""
        ...


class WebServer:
    """A web server that gives parts of its objects."""

    def __init__(self, url: str, patience: float, root: str = "") -> None:
        """Take the URL of the server; `patience` is the time in seconds of all attempts.

        Redirects that do not lead below the URL `root`, if there is one, are refused.
        """
        self.url = url
        self._patience = patience
        self._opener = build_opener(_Redirects(root))

    def fetch(self, key: str, begin: int, end: int) -> Piece:
        """Return a part of an object, whose end may lie behind that of the object.

        Raises:
            StoreError: there is none, or it cannot be read.
            StoreAwayError: the server does not answer.
        """
        url = f"{self.url}/{key}"
        headers = {"Range": f"bytes={begin}-{end - 1}", "Accept-Encoding": "identity"}

        def read(answer: Answer) -> Piece:
            version = str(answer.headers.get("ETag") or answer.headers.get("Last-Modified", ""))
            size = _whole_size(answer, begin)
            if size is not None:
                return Piece(_read_all(answer, min(end, size) - begin), size, version)
            whole = None if begin else _read_chunks(answer)
            if whole is None:
                raise StoreError(f"{shown(url)}: its server gives no parts of it, only the whole")
            return Piece(whole[:end], len(whole), version)

        return self._ask(url, headers, read, is_empty=not begin)

    def list(self, folder: str) -> Iterator[tuple[str, int]]:
        """Refuse: there is no way to ask a web server.

        Raises:
            StoreError: always.
        """
        url = shown(f"{self.url}/{folder}")
        raise StoreError(
            f"{url} ends as a folder, and web servers list none: name its files, or, for a page, "
            f"curl -sL {url} | dehusk clean --base-url {url}"
        )

    def _ask(
        self, url: str, headers: dict[str, str], read: Callable[[Answer], Piece], *, is_empty: bool = False
    ) -> Piece:
        """Return what `read` makes of the answer; ask again while there is none, for so long."""
        until, pause = time.monotonic() + self._patience, _FIRST_PAUSE
        while True:
            try:
                request = Request(url, headers=headers)  # noqa: S310 the caller checks the scheme
                with self._opener.open(request, timeout=answer_seconds(self._patience)) as answer:
                    return read(cast("Answer", answer))
            except HTTPError as error:
                with error:
                    if error.code == 416 and is_empty:
                        return Piece(b"", 0, "")
                    if not self._is_for_later(error):
                        raise _refusal(error.code, url) from error
                failure: Exception = error
            except StoreError:
                raise
            except (InvalidURL, ValueError) as error:
                raise StoreError(f"{shown(url)} has no host that can be asked") from error
            except (OSError, HTTPException) as error:
                failure = error
            fault = tls_fault(failure)
            if fault or time.monotonic() + pause > until:
                why = fault or (failure.reason if type(failure) is URLError else failure)
                raise StoreAwayError(f"{shown(self.url)} does not give {shown(url)}: {why}") from failure
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _is_for_later(self, error: HTTPError) -> bool:
        """Return True if the request that a server refused may be repeated."""
        return error.code in _LATER


def _read_all(answer: Answer, expected: int) -> bytes:
    """Read so many bytes of an answer.

    Raises:
        HTTPException: it ends before.
    """
    data = answer.read(expected)
    if len(data) < expected:
        raise HTTPException(f"it ends after {len(data):,} of {expected:,} bytes")
    return data


def _read_chunks(answer: Answer) -> bytes | None:
    """Read an object that comes in chunks, without its size; None if there are none, or it is large.

    Raises:
        HTTPException: it is cut off.
    """
    if answer.status != HTTPStatus.OK or answer.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return None
    whole = answer.read(_MOST_CHUNKED + 1)
    return whole if len(whole) <= _MOST_CHUNKED else None


def _whole_size(answer: Answer, begin: int) -> int | None:
    """Return the bytes of an object of which an answer has a part; None if it has not what was asked for."""
    if answer.status == 206:
        found = _CONTENT_RANGE.match(answer.headers.get("Content-Range", ""))
        return int(found[2]) if found and int(found[1]) == begin < int(found[2]) else None
    length = answer.headers.get("Content-Length", "")
    return int(length) if not begin and _SIZE.fullmatch(length) else None


def _refusal(status: int, url: str) -> StoreError:
    if status in {401, 403}:
        return StoreError(f"access to {shown(url)} is denied ({status})")
    if status in {404, 410}:
        return NotStoredError(f"there is no {shown(url)}")
    if status == 416:
        return StoreError(f"{shown(url)} ends before the bytes that are asked for")
    return StoreError(f"{shown(url)}: its server answers {status}")


class _Redirects(HTTPRedirectHandler):
    """Redirects, which never lead to another scheme than to https."""

    def __init__(self, root: str) -> None:
        self._root = urlsplit(root) if root else None

    def redirect_request(  # noqa: PLR0917 urllib's
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        """Return the request of the place that a server names.

        Raises:
            StoreError: it is not to be asked.
        """
        there, here = urlsplit(newurl), urlsplit(req.full_url)
        if there.scheme not in {here.scheme, "https"} or not self._is_allowed(there):
            raise StoreError(f"{shown(req.full_url)} leads to {shown(newurl)}, which is not asked")
        return super().redirect_request(req, fp, code, msg, headers, newurl)

    def _is_allowed(self, there: SplitResult) -> bool:
        """Return True for a URL below the root, or any if there is no root."""
        if self._root is None:
            return True
        folder, path = unquote(self._root.path), unquote(there.path)
        return (
            (there.scheme, there.netloc) == (self._root.scheme, self._root.netloc)
            and path.startswith(folder)
            and is_below(path.removeprefix(folder))
        )


class _Status(msgspec.Struct, frozen=True):
    """Status of a file or folder of HDFS."""

    name: str = msgspec.field(name="pathSuffix")
    kind: str = msgspec.field(name="type")
    length: int
    modification_time: int = msgspec.field(name="modificationTime")


class _One(msgspec.Struct, frozen=True):
    """Answer to GETFILESTATUS."""

    status: _Status = msgspec.field(name="FileStatus")


class _Statuses(msgspec.Struct, frozen=True):
    of_each: list[_Status] = msgspec.field(name="FileStatus")


class _List(msgspec.Struct, frozen=True):
    """Answer to LISTSTATUS."""

    statuses: _Statuses = msgspec.field(name="FileStatuses")


class _Exception(msgspec.Struct, frozen=True):
    name: str = msgspec.field(name="exception")


class _Refusal(msgspec.Struct, frozen=True):
    """Answer to a request that failed."""

    exception: _Exception = msgspec.field(name="RemoteException")


_Named = TypeVar("_Named", _One, _List)


class WebHdfs(WebServer):
    """HDFS: the name node gives sizes and lists, and sends requests for bytes on to data nodes."""

    def __init__(self, url: str, patience: float) -> None:
        """Take the URL `webhdfs://[user@]host:port` of the name node."""
        parts = urlsplit(url)
        user, _, address = parts.netloc.rpartition("@")
        super().__init__(url, patience)
        self._base = f"http://{address}/webhdfs/v1/"
        self._user = f"&user.name={quote(user)}" if user else ""

    def fetch(self, key: str, begin: int, end: int) -> Piece:
        """Return a part of a file, as that of an object."""
        status = self._status(key)
        size = status.length
        if begin >= max(size, 1):
            raise StoreError(f"{shown(self.url)}/{key} ends before the bytes that are asked for")
        expected = min(end, size) - begin

        def read(answer: Answer) -> Piece:
            return Piece(_read_all(answer, expected), size, str(status.modification_time))

        return self._ask(self._address(key, f"OPEN&offset={begin}&length={max(expected, 1)}"), {}, read)

    def list(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield key and size of each file below a folder, in the order of their names."""
        statuses = self._answered(folder, "LISTSTATUS", _List).statuses.of_each
        for status in sorted(statuses, key=lambda each: each.name):
            key = f"{folder}/{status.name}".strip("/")
            if status.kind == "DIRECTORY":
                yield from self.list(key)
            else:
                yield key, status.length

    def _is_for_later(self, error: HTTPError) -> bool:
        if error.code != 403:
            return super()._is_for_later(error)
        try:
            refusal = msgspec.json.decode(error.read(_MOST_OF_AN_ERROR), type=_Refusal)
        except (OSError, HTTPException, msgspec.DecodeError, UnicodeDecodeError):
            return False
        return refusal.exception.name in _LATER_IN_HADOOP

    def _status(self, key: str) -> "_Status":
        return self._answered(key, "GETFILESTATUS", _One).status

    def _answered(self, key: str, operation: str, kind: type[_Named]) -> _Named:
        answered = self._ask(
            self._address(key, operation), {}, lambda answer: Piece(answer.read(_MOST_LISTED), 0, "")
        )
        if len(answered.data) == _MOST_LISTED:
            raise StoreError(
                f"{shown(self.url)}/{key} has too many files: its list is over {_MOST_LISTED // MIB} MiB"
            )
        try:
            return msgspec.json.decode(answered.data, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StoreError(f"{shown(self.url)} does not answer as WebHDFS does: {error}") from error

    def _address(self, key: str, operation: str) -> str:
        return f"{self._base}{quote(key)}?op={operation}{self._user}"
