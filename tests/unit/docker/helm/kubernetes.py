"""The schemas of Kubernetes' own objects, and of those that KEDA and the Prometheus operator add."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import yaml
from jsonschema import Draft7Validator

from tests.unit.docker.helm.fetched import schemas

_CRDS = Path(__file__).with_name("crds")
"""As KEDA 2.21.0 and Prometheus operator 0.85.0 (Apache-2.0) have them."""
_FOLDER = "kubernetes_validate/kubernetes-json-schema/v{}-local-strict/"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_OPEN = "x-kubernetes-preserve-unknown-fields"


def errors(document: dict[str, Any], version: str) -> list[str]:
    """Find what this version of Kubernetes would refuse: fields of a wrong type, unknown, or missing."""
    group, _, api = document["apiVersion"].rpartition("/")
    schema = _custom(group, api, document["kind"]) or _own(group, api, document["kind"], version)
    return [f"{error.json_path}: {error.message}" for error in Draft7Validator(schema).iter_errors(document)]


@cache
def _own(group: str, api: str, kind: str, version: str) -> dict[str, Any]:
    name = "-".join(part for part in (kind.lower(), group.partition(".")[0], api) if part)
    with ZipFile(schemas()) as wheel:
        texts = [wheel.read(f"{_FOLDER.format(version)}{file}.json") for file in (name, "_definitions")]
    schema, definitions = (json.loads(re.sub(rb'"[^"]*_definitions[.]json#', b'"#', text)) for text in texts)
    return schema | definitions


@cache
def _custom(group: str, api: str, kind: str) -> dict[str, Any] | None:
    for file in _CRDS.iterdir():
        spec = yaml.load(file.read_text(), yaml.CSafeLoader)["spec"]
        if (spec["group"], spec["names"]["kind"]) == (group, kind):
            (found,) = [version for version in spec["versions"] if version["name"] == api]
            schema = _strict(found["schema"]["openAPIV3Schema"])
            schema["properties"]["metadata"] = {"type": "object"}
            return schema
    return None


def _strict(schema: Any) -> Any:
    """The schema without what it says beyond JSON Schema, and with no fields but those it names."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: _strict(value) for key, value in schema.items()}
    if schema.get(_INT_OR_STRING) is True:
        strict["type"] = ["integer", "string"]
    if isinstance(schema.get("properties"), dict) and "type" in schema and not schema.get(_OPEN):
        strict.setdefault("additionalProperties", False)
    return strict
