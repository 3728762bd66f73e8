"""Procedures of RFC 9693."""
