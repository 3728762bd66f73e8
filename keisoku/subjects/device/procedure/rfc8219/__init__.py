"""Procedures of RFC 8219."""
