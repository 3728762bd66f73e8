"""Load from one or many client hosts at once, and what each of them saw."""
