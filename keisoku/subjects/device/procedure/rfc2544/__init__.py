"""Procedures of RFC 2544 and RFC 9004, RFC 6201."""
