"""What holds for all tests: property tests are the same every time, on slow machines too, and Ctrl-C works anywhere."""

import os
import signal

import pytest
from hypothesis import settings

# Before numpy is loaded, as the command does: its threads wait for each other ten times as long as they work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("keisoku", deadline=None, derandomize=True)
# Other examples at every run: `make soak`.
settings.register_profile("random", deadline=None)
settings.load_profile("keisoku")

# A shell starts background jobs with SIGINT ignored, and nohup does so with SIGHUP; children inherit that: they could
# not be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long",
        action="store_true",
        help="try every fault of tests/faults, and run the documentation's blocks that are marked long or lab",
    )
