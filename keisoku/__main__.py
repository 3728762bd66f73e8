"""`python -m keisoku` is the `keisoku` command."""

from keisoku.cli.entry import main

main()
