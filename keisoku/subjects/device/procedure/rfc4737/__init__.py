"""Procedures of RFC 4737 and RFC 5236."""
