"""Procedures of RFC 2889."""
