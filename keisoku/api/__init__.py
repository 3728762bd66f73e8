"""What `import keisoku as ks` offers: measure, look, take the numbers elsewhere. Prints nothing (docs/python.md)."""
