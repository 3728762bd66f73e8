"""`python -m keisoku` is the `keisoku` command."""

from keisoku.cli.main import main

main()
