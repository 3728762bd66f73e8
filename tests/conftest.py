"""What holds for all tests: no property test fails because a machine is slow, and Ctrl-C can be tested anywhere."""

import signal

from hypothesis import settings

settings.register_profile("keisoku", deadline=None)
settings.load_profile("keisoku")

# A shell starts background jobs with SIGINT ignored, and nohup does so with SIGHUP; children inherit that: they could
# not be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
