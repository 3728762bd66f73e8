"""Procedures of RFC 4689."""
