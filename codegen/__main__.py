"""`python -m codegen`: write the generated files."""

from codegen import json_schemas, lexbor, month_names, registry_schemas
from codegen.selectolax_sources import pinned_version, unpacked


def main() -> None:
    """Write all generated files."""
    for name, text in json_schemas.schemas().items():
        (json_schemas.FOLDER / name).write_text(text)
    registry_schemas.write()
    month_names.PATH.write_text(month_names.module())
    with unpacked() as sources:
        lexbor.PATH.write_text(lexbor.header(sources, pinned_version()))


if __name__ == "__main__":
    main()
