"""Settings of all tests."""

import os
import shutil
import signal
from pathlib import Path

import pytest

try:
    from hypothesis import settings
except ImportError:  # the environment for training has none, and no test that uses it
    pass
else:
    settings.register_profile("dehusk", deadline=None)  # a busy machine is no defect
    settings.load_profile("dehusk")

# Before a test module imports ONNX Runtime, which would collect usage data.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

try:
    from tests.published import validate_writers
except ImportError:  # the environment for training has no jsonschema
    pass
else:
    validate_writers()

# Where the tests are started in the background of a shell, they and all that they start would ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_BROWSER = Path(__file__).with_name("browser")
_NO_CHROMIUM = "Chromium is missing; install it with: sudo apt-get install chromium"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the tests of the pages for browsers where there is none."""
    if shutil.which("chromium") is None:
        for item in items:
            if _BROWSER in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=_NO_CHROMIUM))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name binary parameters by argument and number: gzip holds the time, which differs in each process."""
    return argname if isinstance(val, bytes) and not val.isascii() else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many of them were left out."""
    skipped = terminalreporter.stats.get("skipped", ())
    left_out = sum(_NO_CHROMIUM in str(report.longrepr) for report in skipped)
    if left_out:
        terminalreporter.write_sep("-", f"{left_out} browser tests left out. {_NO_CHROMIUM}", yellow=True)


@pytest.hookimpl(optionalhook=True)  # the environment for training has no xdist
def pytest_xdist_auto_num_workers() -> int:
    """Take one more process than there are processors: many tests wait for clocks and other processes."""
    return (os.cpu_count() or 1) + 1
