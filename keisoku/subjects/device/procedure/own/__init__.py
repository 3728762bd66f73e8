"""Procedures that no document describes."""
