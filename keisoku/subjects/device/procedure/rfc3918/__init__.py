"""Procedures of RFC 3918."""
