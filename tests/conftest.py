"""What holds for all tests: property tests are the same every time, on slow machines too, and Ctrl-C works anywhere."""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Before numpy is loaded, as the command does: its threads wait for each other ten times as long as they work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What is drawn for a terminal is tested as one, whatever the terminal is that starts the tests.
os.environ["TERM"] = "xterm-256color"

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


@pytest.fixture(scope="session", autouse=True)
def _calibrations_of_the_tests_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's own calibrations neither count in a test nor get another from it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _runs_need_not_outlive_the_host() -> Iterator[None]:
    """A tenth of the time of simulated runs was spent on waiting for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield
