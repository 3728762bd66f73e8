"""Procedures of RFC 6412 and RFC 6413."""
