"""`python -m keisoku` is the `keisoku` command."""

from keisoku.faces.cli.entry import main

main()
