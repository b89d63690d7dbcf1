"""`python -m codegen`: write the generated files."""

from codegen import features, lexbor
from codegen.selectolax_sources import pinned_version, unpacked

with unpacked() as sources:
    lexbor.PATH.write_text(lexbor.header(sources, pinned_version()))
features.PATH.write_text(features.declarations())
