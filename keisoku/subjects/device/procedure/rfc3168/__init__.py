"""Procedures of RFC 3168 and RFC 7567."""
