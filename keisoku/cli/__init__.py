"""The `keisoku` command: one thin file a subcommand. Nothing below this folder prints or exits."""
