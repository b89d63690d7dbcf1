"""A program that calls Helm's library: `python native.py LIBRARY FUNCTION`, the options on standard input.

It is a process of its own, as the library brings the runtime of Go, with its threads and signal handlers.
"""

import ctypes
import json
import sys
from typing import Any, ClassVar

TEXT, FLAG = ctypes.c_char_p, ctypes.c_int
Fields = list[tuple[str, Any]]


class Result(ctypes.Structure):
    _fields_: ClassVar[Fields] = [(name, TEXT) for name in ("out", "err", "stdout", "stderr")]


class Lint(ctypes.Structure):
    _fields_: ClassVar[Fields] = [("path", TEXT), ("strict", FLAG), ("quiet", FLAG)]


class Template(ctypes.Structure):
    _fields_: ClassVar[Fields] = [
        *((name, TEXT) for name in ("name", "version", "chart", "namespace", "kube_version")),
        *((name, FLAG) for name in ("dependency_update", "skip_crds")),
        *((name, TEXT) for name in ("values", "set_files", "values_files", "cert", "key", "ca")),
        *((name, FLAG) for name in ("insecure", "plain_http")),
        ("keyring", TEXT),
        ("debug", FLAG),
        ("repository_config", TEXT),
    ]


class Install(ctypes.Structure):
    _fields_: ClassVar[Fields] = [
        ("name", TEXT),
        ("generate_name", FLAG),
        *((name, TEXT) for name in ("name_template", "version", "chart", "namespace", "kube_version")),
        *((name, FLAG) for name in ("atomic", "create_namespace")),
        ("description", TEXT),
        *((name, FLAG) for name in ("devel", "dependency_update", "disable_validation", "dry_run")),
        ("dry_run_option", TEXT),
        *((name, FLAG) for name in ("skip_crds", "wait", "timeout")),
        *((name, TEXT) for name in ("values", "set_files", "values_files", "kube_config")),
        *((name, TEXT) for name in ("kube_config_contents", "cert", "key", "ca")),
        *((name, FLAG) for name in ("insecure", "plain_http")),
        ("keyring", TEXT),
        *((name, FLAG) for name in ("debug", "client_only")),
        ("repository_config", TEXT),
    ]


class Package(ctypes.Structure):
    _fields_: ClassVar[Fields] = [
        ("path", TEXT),
        ("destination", TEXT),
        ("sign", FLAG),
        *((name, TEXT) for name in ("key", "keyring", "passphrase_file")),
    ]


def main(library: str, function: str) -> None:
    given = json.load(sys.stdin)
    values = {name: value.encode() if isinstance(value, str) else value for name, value in given.items()}
    call = getattr(ctypes.CDLL(library), function)
    call.restype = Result
    result = call(ctypes.byref(globals()[function](**values)))
    if result.err:
        sys.exit(result.err.decode())
    sys.stdout.write((result.out or b"").decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
