import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from codegen import lexbor
from codegen.selectolax_sources import pinned_version, unpacked

HEADER = lexbor.PATH.read_text()
STRUCTURE = """struct lxb_dom_node_t {
    char unread_0[8];
    uintptr_t local_name;
    char unread_16[8];
    uintptr_t ns;
    char unread_32[8];
    lxb_dom_node_t *next;
    lxb_dom_node_t *prev;
"""


@pytest.fixture(scope="module")
def sources() -> Iterator[Path]:
    """The sources of the pinned selectolax."""
    with unpacked() as folder:
        yield folder


def replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


def exchanged(text: str, one: str, other: str) -> str:
    return replaced(replaced(replaced(text, one, "\0"), other, one), "\0", other)


def compiled(header: str) -> subprocess.CompletedProcess[str]:
    command = [*lexbor.compiler(), "-fsyntax-only", "-x", "c", "-"]
    return subprocess.run(command, input=header, capture_output=True, text=True, check=False)


def with_node(sources: Path, folder: Path, old: str, new: str) -> Path:
    """A copy of the sources in which Lexbor's node is declared otherwise."""
    subprocess.run(["cp", "-r", sources / "lexbor", folder], check=True)
    declaration = folder / "lexbor/source/lexbor/dom/interfaces/node.h"
    declaration.write_text(replaced(declaration.read_text(), old, new))
    return folder


def test_the_header_is_what_the_pinned_sources_say(sources: Path) -> None:
    assert lexbor.header(sources, pinned_version()) == HEADER


def test_the_header_compiles() -> None:
    assert compiled(HEADER).returncode == 0


@pytest.mark.parametrize(
    ("structure", "misplaced"),
    [
        (exchanged(STRUCTURE, "char unread_16[8]", "uintptr_t ns"), "ns"),
        (exchanged(STRUCTURE, "*next", "*prev"), "next"),
        (replaced(STRUCTURE, "unread_0[8];", "unread_0[8]; void *more;"), "local_name"),
    ],
)
def test_a_header_with_misplaced_members_does_not_compile(structure: str, misplaced: str) -> None:
    told = compiled(replaced(HEADER, STRUCTURE, structure))
    assert told.returncode != 0
    assert f'static assertion failed: "lxb_dom_node_t.{misplaced}"' in told.stderr


PREFIX_AND_NAMESPACE = """    uintptr_t              prefix;     /* lowercase: lalala */
    uintptr_t              ns;         /* namespace */
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (PREFIX_AND_NAMESPACE, exchanged(PREFIX_AND_NAMESPACE, "prefix;", "ns;")),
        ("*prev;\n", "*user_;\n    lxb_dom_node_t *prev;\n"),
        ("    uintptr_t              local_name;", "    void *more; uintptr_t local_name;"),
        ("LXB_DOM_NODE_TYPE_TEXT                   = 0x03", "LXB_DOM_NODE_TYPE_TEXT = 0x13"),
    ],
)
def test_other_sources_give_another_header(sources: Path, tmp_path: Path, old: str, new: str) -> None:
    changed = with_node(sources, tmp_path, old, new)
    assert lexbor.header(changed, pinned_version()) != HEADER


@pytest.mark.parametrize("namespace", ["size_t *ns;", "uintptr_t namespace_;"])
def test_sources_with_a_member_of_another_type_or_name_are_refused(
    sources: Path, tmp_path: Path, namespace: str
) -> None:
    changed = with_node(sources, tmp_path, "uintptr_t              ns;", namespace)
    with pytest.raises(subprocess.CalledProcessError):
        lexbor.header(changed, pinned_version())
