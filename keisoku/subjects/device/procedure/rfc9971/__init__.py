"""Procedures of RFC 9971."""
