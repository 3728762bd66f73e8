"""The contents of `import keisoku as ks`: measure, show and export results. Prints nothing (docs/python.md)."""
