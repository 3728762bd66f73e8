"""Sections of a page about a device, in addition to the tables that every result has."""
