"""Procedures of RFC 8239."""
