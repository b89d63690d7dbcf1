"""The examples of engines, run as they stand, beside `dehusk clean`."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
GOLDEN = sorted((ROOT / "inference/golden_pages").glob("*.html"))
PAGES = [
    {"url": f"http://x.test/{number}", "html": html}
    for number in range(9)
    for html in (
        *(page.read_text() for page in GOLDEN),
        f"<title>{number}</title>" + "<p>Prose." * 30,
        "%PDF-1",
    )
]
"""Some dozens of pages with content, and some that are none."""


def run_example(section: str, folder: Path) -> None:
    """Run the Python of a section in a folder, as a program."""
    page = (ROOT / "docs/how-to/engines.md").read_text()
    text = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    program = "".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    (folder / "program.py").write_text(program)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    ended = subprocess.run(
        [sys.executable, "program.py"],
        check=False,
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=280,
    )
    assert ended.returncode == 0, ended.stdout


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The lines of `dehusk clean`."""
    lines = "".join(f"{json.dumps(page)}\n" for page in PAGES)
    command = [sys.executable, "-m", "dehusk", "clean", "--no-blocks", "--processes", "1"]
    written = subprocess.run(command, input=lines, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in written.splitlines()]


def test_datatrove(tmp_path: Path, cleaned: list[dict[str, Any]]) -> None:
    (tmp_path / "pages").mkdir()
    for part in range(4):
        lines = "".join(f"{json.dumps(page)}\n" for page in PAGES[part::4])
        (tmp_path / f"pages/{part}.jsonl").write_text(lines)
    run_example("datatrove", tmp_path)
    from datatrove.pipeline.readers import JsonlReader

    found = sorted(
        (document.metadata["url"], document.text) for document in JsonlReader(f"{tmp_path}/cleaned").run()
    )
    assert found == sorted((line["url"], line["text"]) for line in cleaned if line["error"] is None)
    assert {line["error"] is None for line in cleaned} == {True, False}
