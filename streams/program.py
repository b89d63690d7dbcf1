"""The command of this program, as it can be typed where it was started."""

import os
import shlex
import shutil
import sys
from pathlib import Path

_NAME = "dehusk"


def program() -> str:
    """`dehusk` where the shell finds this one, else the path by which it was started, relative if shorter."""
    started = Path(sys.argv[0])
    found = shutil.which(_NAME)
    if started.name != _NAME or (found and Path(found).resolve() == started.resolve()):
        return _NAME
    relative = os.path.relpath(started)
    if os.sep not in relative:
        relative = os.path.join(os.curdir, relative)  # noqa: PTH118 a Path would drop the dot that shells need
    return shlex.quote(min(relative, sys.argv[0], key=len))
