"""What the user wants, parsed and checked before the first frame leaves. Touches no port."""
