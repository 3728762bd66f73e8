"""The `keisoku` command: one thin file for each subcommand. Only this folder prints and exits."""

import os

# Before numpy is loaded: all matrices here are small. With threads numpy would be ten times slower on a busy host, and
# would disturb a host that measures.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
