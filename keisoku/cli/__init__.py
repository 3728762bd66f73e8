"""The `keisoku` command: one thin file a subcommand. Nothing below this folder prints or exits."""

import os

# Before numpy is loaded: all matrices here are small, and threads that wait for each other are ten times as slow on a
# busy host and a disturbance on one that measures.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
